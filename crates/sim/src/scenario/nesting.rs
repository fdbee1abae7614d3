//! How deeply a TOML text nests, found without recursion before a parser sees it.

/// Deepest nesting of tables and lists in a scenario. A sound one needs six.
pub const MAX_DEPTH: usize = 32;

/// Byte offset at which `text` nests deeper than [`MAX_DEPTH`], if it does anywhere.
///
/// Brackets nest, and so does every dot in a key (`a.b.c = 1`). Strings and comments are skipped. In a text that is not
/// TOML the answer may be off by a level or two; the parser refuses such a text itself.
pub fn too_deep(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut outer = Vec::new(); // depth outside each open bracket
    let mut base = 0; // depth at the last bracket, comma or line
    let mut dots = 0; // dots since then
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'#' => at = skip_line(bytes, at),
            b'"' | b'\'' => at = skip_string(bytes, at),
            b'[' | b'{' => {
                outer.push(base);
                base += dots + 1;
                dots = 0;
            }
            b']' | b'}' => {
                base = outer.pop().unwrap_or(0);
                dots = 0;
            }
            b'\n' if outer.is_empty() => (base, dots) = (0, 0),
            b',' => dots = 0,
            b'.' => dots += 1,
            _ => {}
        }
        if base + dots > MAX_DEPTH {
            return Some(at.min(bytes.len()));
        }
        at += 1;
    }
    None
}

/// Offset of the last byte before the line's end.
fn skip_line(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start + 1..).unwrap_or_default();
    start + rest.iter().take_while(|byte| **byte != b'\n').count()
}

/// Offset of the last byte of the string that opens at `start`; a one-line string ends with its line.
fn skip_string(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let long = bytes[start..].starts_with(&[quote; 3]);
    let mut at = start + if long { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if quote == b'"' => at += 1,
            b'\n' if !long => return at - 1,
            _ if byte == quote && !long => return at,
            _ if byte == quote && bytes[at..].starts_with(&[quote; 3]) => {
                // Up to two more quotes belong to the string that the three close.
                let more = bytes[at + 3..].iter().take(2).take_while(|byte| **byte == quote).count();
                return at + 2 + more;
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_brackets_and_dots() {
        let lists = |n: usize| format!("a = {}{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(too_deep(&lists(MAX_DEPTH)), None);
        assert_eq!(too_deep(&lists(MAX_DEPTH + 1)), Some(4 + MAX_DEPTH));
        let dotted = |n: usize| format!("a{} = 1", ".a".repeat(n));
        assert_eq!(too_deep(&dotted(MAX_DEPTH)), None);
        assert!(too_deep(&dotted(MAX_DEPTH + 1)).is_some());
        assert!(too_deep(&format!("[{}]", dotted(MAX_DEPTH))).is_some());
        assert!(too_deep(&"a.a.a={".repeat(20)).is_some());
    }

    #[test]
    fn neighbours_do_not_nest() {
        assert_eq!(too_deep(&"[a.b]\nx = [1.5, 2.5]\n".repeat(1000)), None);
        assert_eq!(too_deep(&format!("x = [{}]", "0.5, ".repeat(1000))), None);
        assert_eq!(too_deep(&format!("x = [\n{}]", "{ a.b = 1.5 },\n".repeat(1000))), None);
    }

    #[test]
    fn strings_and_comments_do_not_nest() {
        let deep = "[".repeat(99);
        for text in [
            format!("# {deep}\na = 1"),
            format!("a = \"{deep}\""),
            format!("a = '{deep}'"),
            format!("a = \"\\\"{deep}\""),
            format!("a = \"\"\"{deep}\n{deep}\"\"\"\""),
            format!("a = '''{deep}'''''\nb = 1"),
            format!("a = \"\"\"\"{deep}\"\"\""),
        ] {
            assert_eq!(too_deep(&text), None, "{text}");
        }
        assert!(too_deep(&format!("a = '''x'''''\n{deep}")).is_some());
    }

    #[test]
    fn broken_texts_end() {
        for text in ["\"", "'", "\"\"\"", "'''", "\"\\", "#", "]]]]", "\"\"", "''''", "\"\n"] {
            assert_eq!(too_deep(text), None, "{text:?}");
        }
    }
}
