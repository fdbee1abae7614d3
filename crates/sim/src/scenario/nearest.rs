//! Which known word a mistyped word was meant to be.

/// Words longer than this are not compared.
const LONGEST: usize = 40;

/// The candidate nearest to `word`, if near enough to suggest: a third of its letters may be wrong.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = fold(word)?;
    let limit = (letters.len() / 3).max(1);
    let distance = |candidate: &str| fold(candidate).map(|other| distance(&letters, &other));
    candidates
        .into_iter()
        .filter_map(|candidate| Some((distance(candidate)?, candidate)))
        .filter(|(errors, _)| *errors <= limit)
        .min_by_key(|(errors, _)| *errors)
        .map(|(_, candidate)| candidate)
}

/// Beginnings of keys that others have replaced, and what to write instead.
const REPLACED: [(&str, &str); 5] = [
    ("bbr_", "bbr = \"linux\" for Linux's rules"),
    ("cubic_clock", "cubic = \"linux\", which counts ticks"),
    ("first_window", "receive_window = { first = ... }"),
    ("window_share", "receive_window = { share = ... }"),
    ("saved_", "careful_resume = { saved_rtt = ..., saved_cwnd = ... }"),
];

/// `; did you mean "WORD"?`, or what replaces a key, or nothing.
pub(super) fn suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    if let Some((_, now)) = REPLACED.iter().find(|(old, _)| word.starts_with(old)) {
        return format!("; write {now}");
    }
    nearest(word, candidates).map_or(String::new(), |found| format!("; did you mean \"{found}\"?"))
}

/// The lower-case letters of a word, `-` read as `_`; `None` for a word too long to be a slip.
fn fold(word: &str) -> Option<Vec<char>> {
    let plain = |c: char| if c == '-' { '_' } else { c.to_ascii_lowercase() };
    let letters: Vec<char> = word.chars().take(LONGEST + 1).map(plain).collect();
    (letters.len() <= LONGEST).then_some(letters)
}

/// Number of letters to insert, delete, replace or swap with their neighbour (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = above[j] + usize::from(x != y);
            let mut best = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

/// The first few names.
pub(super) fn some_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 8;
    let mut shown: Vec<&str> = names.take(SHOWN + 1).collect();
    let more = shown.len() > SHOWN;
    shown.truncate(SHOWN);
    let list = shown.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    if more {
        list + ", ..."
    } else {
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(a: &str, b: &str) -> usize {
        distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
    }

    #[test]
    fn counts_single_slips() {
        assert_eq!(between("", ""), 0);
        assert_eq!(between("", "abc"), 3);
        assert_eq!(between("min_th", "min_th"), 0);
        assert_eq!(between("mni_th", "min_th"), 1);
        assert_eq!(between("min_t", "min_th"), 1);
        assert_eq!(between("kitten", "sitting"), 3);
    }

    #[test]
    fn suggests_near_words_only() {
        let keys = ["duration", "warmup", "seed", "min_th", "max_th"];
        assert_eq!(nearest("Duraton", keys), Some("duration"));
        assert_eq!(nearest("min-th", keys), Some("min_th"));
        assert_eq!(nearest("banana", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), keys), None);
        assert_eq!(suggestion("sead", keys), "; did you mean \"seed\"?");
        assert_eq!(suggestion("zzz", keys), "");
    }
}
