//! The one error of the checker: which file, which field, what was given, what is allowed.

use std::fmt;

/// Longest piece of the user's own text that a message repeats, in characters.
const SHOWN: usize = 60;

/// What is wrong with a scenario, and where.
///
/// It prints on one or two lines:
///
/// ```text
/// red.toml: queue.bottleneck.max_p: out of range
///   given 1.5; allowed (0, 1]
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, when the scenario came from one.
    pub file: Option<String>,
    /// The field, such as `queue.bottleneck.min_th` or `traffic[0].start`; a place in the text for a syntax
    /// error; empty when the file as a whole is at fault.
    pub path: String,
    /// What was given, shortened.
    pub given: Option<String>,
    /// What is allowed instead.
    pub allowed: Option<String>,
    /// What is wrong, in a few words.
    pub message: String,
}

impl ScenarioError {
    /// An error about the field at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), ..Self::default() }
    }

    /// An error about a file as a whole.
    pub fn in_whole_file(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self { file: Some(file.into()), message: message.into(), ..Self::default() }
    }

    /// Adds what was given.
    pub fn given(mut self, given: impl Into<String>) -> Self {
        self.given = Some(given.into());
        self
    }

    /// Adds what is allowed.
    pub fn allowed(mut self, allowed: impl Into<String>) -> Self {
        self.allowed = Some(allowed.into());
        self
    }

    /// Names the file, unless it is named already.
    pub fn in_file(mut self, file: Option<&str>) -> Self {
        if self.file.is_none() {
            self.file = file.map(str::to_string);
        }
        self
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match (&self.given, &self.allowed) {
            (Some(given), Some(allowed)) => write!(f, "\n  given {given}; allowed {allowed}"),
            (Some(given), None) => write!(f, "\n  given {given}"),
            (None, Some(allowed)) => write!(f, "\n  allowed {allowed}"),
            (None, None) => Ok(()),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// `text` in quotes, without control characters and not longer than a line can bear.
pub(super) fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    format!("{shown:?}")
}

/// `"a", "b", "c"`.
pub(super) fn quoted_list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_it_knows_and_no_more() {
        let bare = ScenarioError::new("seed", "is missing");
        assert_eq!(bare.to_string(), "seed: is missing");
        let full = bare.given("x").allowed("y").in_file(Some("a.toml"));
        assert_eq!(full.to_string(), "a.toml: seed: is missing\n  given x; allowed y");
        assert_eq!(full.in_file(Some("b.toml")).file.as_deref(), Some("a.toml"));
    }

    #[test]
    fn long_and_odd_texts_stay_on_one_short_line() {
        let shown = quoted(&"é\n".repeat(1000));
        assert!(shown.chars().count() < 110 && !shown.contains('\n'), "{shown}");
        assert!(shown.contains("..."));
    }
}
