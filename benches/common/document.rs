//! The documents that figures are written into.

use std::fs;

/// Replaces what is between a document's markers.
pub fn replace(document: &str, marker: &str, text: &str) {
    let (begin, end) = (format!("<!-- {marker}:begin -->\n"), format!("<!-- {marker}:end -->"));
    let before = fs::read_to_string(document).unwrap();
    let (head, rest) = before.split_once(&begin).unwrap();
    let (_, tail) = rest.split_once(&end).unwrap();
    fs::write(document, format!("{head}{begin}\n{}\n{end}{tail}", text.trim_end())).unwrap();
}
