//! Decoding a mapping field by field, collecting every fault.

use super::{
    Faults, Mark, Node, Pair, Value,
    shape::{Key, Shape},
};
use crate::finding::Code;

/// A mapping being decoded: take the fields that are known, then [`Fields::finish`] reports the rest.
pub struct Fields<'n, 'f> {
    at: Mark,
    pairs: &'n [Pair],
    /// The table of the mapping, if it has one: exactly its keys are asked for, each as what the table says.
    table: Option<&'static [Key]>,
    taken: Vec<&'static str>,
    path: String,
    faults: &'f Faults,
}

impl<'n, 'f> Fields<'n, 'f> {
    /// Begins with a file's root node: a null is an empty mapping, anything else but a mapping is a fault.
    #[must_use]
    pub fn root(node: &'n Node, faults: &'f Faults) -> Self {
        Self::at_path(node, String::new(), faults)
    }

    /// The same mapping, read by a table.
    #[must_use]
    pub fn by(self, table: &'static [Key]) -> Self {
        Self { table: Some(table), ..self }
    }

    /// Begins with a node below the root, whose full name is `path`.
    #[must_use]
    pub fn at_path(node: &'n Node, path: String, faults: &'f Faults) -> Self {
        let pairs = match &node.value {
            Value::Map(pairs) => pairs.as_slice(),
            _ if node.is_null() => &[],
            _ => {
                let what = if path.is_empty() { "the file".to_owned() } else { format!("`{path}`") };
                faults.add(Code::WrongType, node.at, format!("{what} must be a mapping, not {}", node.kind()));
                &[]
            }
        };
        Self { at: node.at, pairs, table: None, taken: Vec::new(), path, faults }
    }

    /// The faults, to add one's own.
    #[must_use]
    pub fn faults(&self) -> &'f Faults {
        self.faults
    }

    /// The place of the mapping.
    #[must_use]
    pub fn at(&self) -> Mark {
        self.at
    }

    /// The full name of a field, such as `agent.id`.
    #[must_use]
    pub fn name(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of `key`; a null is as good as absent.
    pub fn node(&mut self, key: &'static str) -> Option<&'n Node> {
        debug_assert!(self.table.is_none() || self.shape(key).is_some(), "`{key}` is not in the table");
        if !self.taken.contains(&key) {
            self.taken.push(key);
        }
        self.pairs.iter().find(|pair| pair.key == key).map(|pair| &pair.value).filter(|node| !node.is_null())
    }

    /// Whether the mapping has `key`, with whatever value.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.pairs.iter().any(|pair| pair.key == key)
    }

    /// The place of the value of `key`, or of the mapping where it has none.
    #[must_use]
    pub fn mark(&self, key: &str) -> Mark {
        self.pairs.iter().find(|pair| pair.key == key).map_or(self.at, |pair| pair.value.at)
    }

    /// What the table says of a key.
    fn shape(&self, key: &str) -> Option<&'static Shape> {
        self.table?.iter().find(|known| known.name == key).map(|known| &known.shape)
    }

    /// Fails in debug builds where the table has the key as something else than it is read as.
    fn assert_read_as(&self, key: &str, fits: impl FnOnce(&Shape) -> bool) {
        debug_assert!(self.shape(key).is_none_or(fits), "`{key}` is not read as in its table");
    }

    /// Text. A number or boolean is a fault: quotes make it text.
    pub fn text(&mut self, key: &'static str) -> Option<&'n str> {
        self.assert_read_as(key, |shape| matches!(shape, Shape::Text(_) | Shape::Choice(_) | Shape::WordOrMap(..)));
        let node = self.node(key)?;
        match &node.value {
            Value::Scalar(scalar) if scalar.as_bool().is_none() && scalar.as_number().is_none() => Some(&scalar.text),
            Value::Scalar(scalar) => {
                self.wrong(key, node, &format!("text; write \"{}\" to mean the text", scalar.text))
            }
            _ => self.wrong(key, node, "text"),
        }
    }

    /// `true` or `false`.
    pub fn bool(&mut self, key: &'static str) -> Option<bool> {
        self.assert_read_as(key, |shape| matches!(shape, Shape::Bool));
        let node = self.node(key)?;
        match &node.value {
            Value::Scalar(scalar) if scalar.as_bool().is_some() => scalar.as_bool(),
            _ => self.wrong(key, node, "`true` or `false`"),
        }
    }

    /// A whole number, 0 or more.
    pub fn count(&mut self, key: &'static str) -> Option<usize> {
        self.assert_read_as(key, |shape| matches!(shape, Shape::Count));
        let node = self.node(key)?;
        let number = match &node.value {
            Value::Scalar(scalar) => scalar.as_count().and_then(|count| usize::try_from(count).ok()),
            _ => None,
        };
        number.or_else(|| self.wrong(key, node, "a whole number, 0 or more"))
    }

    /// A number.
    pub fn number(&mut self, key: &'static str) -> Option<f64> {
        self.assert_read_as(key, |shape| matches!(shape, Shape::Number));
        let node = self.node(key)?;
        let number = match &node.value {
            Value::Scalar(scalar) => scalar.as_number().and_then(|number| number.as_f64()),
            _ => None,
        };
        number.or_else(|| self.wrong(key, node, "a number"))
    }

    /// A list's items. An empty list and an absent one differ.
    pub fn list(&mut self, key: &'static str) -> Option<&'n [Node]> {
        let node = self.node(key)?;
        match &node.value {
            Value::List(items) => Some(items),
            _ => self.wrong(key, node, "a list"),
        }
    }

    /// A list of texts, each with its place. Items that are not text are faults, and left out.
    pub fn texts(&mut self, key: &'static str) -> Option<Vec<(&'n str, Mark)>> {
        self.assert_read_as(key, |shape| {
            matches!(shape, Shape::Texts(_) | Shape::Choices { .. } | Shape::TextsOrMap(..))
        });
        let items = self.list(key)?;
        let name = self.name(key);
        let text = |(index, node): (usize, &'n Node)| match &node.value {
            Value::Scalar(scalar) if !scalar.is_null() => Some((scalar.text.as_str(), node.at)),
            _ => {
                let message = format!("`{name}[{index}]` must be text, not {}", node.kind());
                self.faults.add(Code::WrongType, node.at, message);
                None
            }
        };
        Some(items.iter().enumerate().filter_map(text).collect())
    }

    /// A nested mapping; an absent one is empty, so that its defaults apply.
    #[must_use]
    pub fn fields(&mut self, key: &'static str) -> Fields<'n, 'f> {
        let path = self.name(key);
        let table = match self.shape(key) {
            Some(Shape::Map(table) | Shape::WordOrMap(_, table) | Shape::TextsOrMap(_, table)) => Some(*table),
            _ => None,
        };
        match self.node(key) {
            Some(node) => Fields { table, ..Fields::at_path(node, path, self.faults) },
            None => Fields { at: self.at, pairs: &[], table, taken: Vec::new(), path, faults: self.faults },
        }
    }

    /// A list of mappings.
    pub fn each(&mut self, key: &'static str) -> Vec<Fields<'n, 'f>> {
        let name = self.name(key);
        let table = match self.shape(key) {
            Some(Shape::Each { keys, .. }) => Some(*keys),
            _ => None,
        };
        let items = self.list(key).unwrap_or_default();
        let open = |(index, node)| Fields { table, ..Fields::at_path(node, format!("{name}[{index}]"), self.faults) };
        items.iter().enumerate().map(open).collect()
    }

    /// A mapping from names of any kind to mappings, each with its pair.
    pub fn named(&mut self, key: &'static str) -> Vec<(&'n Pair, Fields<'n, 'f>)> {
        let name = self.name(key);
        let table = match self.shape(key) {
            Some(Shape::Named(keys)) => Some(*keys),
            _ => None,
        };
        let open = |pair: &'n Pair| {
            let path = format!("{name}.{}", pair.key);
            (pair, Fields { table, ..Fields::at_path(&pair.value, path, self.faults) })
        };
        self.pairs(key).iter().map(open).collect()
    }

    /// One of the words that the table has for the key.
    pub fn choice(&mut self, key: &'static str) -> Option<&'static str> {
        let Some(Shape::Choice(words)) = self.shape(key) else {
            debug_assert!(false, "`{key}` is not read as in its table");
            return None;
        };
        let node = self.node(key)?;
        let word = self.text(key)?;
        self.word(word, node.at, &self.name(key), words)
    }

    /// A list of the words that the table has for the key.
    pub fn choices(&mut self, key: &'static str) -> Option<Vec<(&'static str, Mark)>> {
        let Some(Shape::Choices { words, least }) = self.shape(key) else {
            debug_assert!(false, "`{key}` is not read as in its table");
            return None;
        };
        let texts = self.texts(key)?;
        let name = self.name(key);
        if texts.len() < *least {
            self.faults.add(Code::InvalidValue, self.mark(key), format!("`{name}` must not be empty"));
        }
        Some(texts.into_iter().filter_map(|(text, at)| Some((self.word(text, at, &name, words)?, at))).collect())
    }

    fn word(&self, text: &str, at: Mark, name: &str, words: &'static [&'static str]) -> Option<&'static str> {
        let found = words.iter().find(|word| **word == text).copied();
        if found.is_none() {
            let known = words.join(", ");
            let text = text.escape_debug();
            self.faults.add(Code::InvalidValue, at, format!("`{name}`: unknown value `{text}`; known: {known}"));
        }
        found
    }

    /// The pairs of a free-form mapping: any key is good.
    pub fn pairs(&mut self, key: &'static str) -> &'n [Pair] {
        self.assert_read_as(key, |shape| matches!(shape, Shape::Pairs | Shape::Named(_)));
        let Some(node) = self.node(key) else { return &[] };
        match &node.value {
            Value::Map(pairs) => pairs,
            _ => self.wrong(key, node, "a mapping").unwrap_or_default(),
        }
    }

    /// Reports every key that was not asked for, with the nearest one that was.
    pub fn finish(self) {
        let is_taken = |key: &Key| self.taken.contains(&key.name);
        debug_assert!(
            self.table.into_iter().flatten().all(is_taken),
            "a key of the table is never read: {}",
            self.path
        );
        for pair in self.pairs.iter().filter(|pair| !self.taken.contains(&pair.key.as_str())) {
            let hint = match nearest(&pair.key, self.taken.iter().copied()) {
                Some(known) => format!("; did you mean `{known}`?"),
                None => format!("; known here: {}", self.taken.join(", ")),
            };
            self.faults.add(Code::UnknownKey, pair.at, format!("unknown key `{}`{hint}", self.name(&pair.key)));
        }
    }

    fn wrong<T>(&self, key: &str, node: &Node, wanted: &str) -> Option<T> {
        let message = format!("`{}` must be {wanted}, not {}", self.name(key), node.kind());
        self.faults.add(Code::WrongType, node.at, message);
        None
    }
}

/// Longer names are not compared: the comparison's cost grows with both lengths.
const MAX_MISSPELT: usize = 64;

/// The known name most like `name`, if any is near enough to be meant.
#[must_use]
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let length = name.chars().count();
    if length > MAX_MISSPELT {
        return None;
    }
    let near = 3.min(1 + length / 3);
    known
        .into_iter()
        .map(|known| {
            let same = name.to_lowercase() == known.to_lowercase();
            (if same { 0 } else { strsim::damerau_levenshtein(name, known) }, known)
        })
        .filter(|(distance, _)| *distance <= near)
        .min()
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse;

    #[test]
    fn every_fault_is_reported_with_its_place() {
        let node = parse("agent:\n  naem: x\n  id: 5\nskip: \"false\"\nlimit: -1\n").unwrap();
        let faults = Faults::default();
        let mut root = Fields::root(&node, &faults);
        let mut agent = root.fields("agent");
        assert_eq!((agent.text("id"), agent.text("name")), (None, None));
        agent.finish();
        assert_eq!((root.bool("skip"), root.count("limit")), (None, None));
        root.finish();
        let found: Vec<_> = faults.into_vec().into_iter().map(|f| (f.at.line, f.at.column, f.message)).collect();
        assert_eq!(
            found,
            [
                (2, 3, "unknown key `agent.naem`; did you mean `name`?".to_owned()),
                (3, 7, "`agent.id` must be text; write \"5\" to mean the text, not a number".to_owned()),
                (4, 7, "`skip` must be `true` or `false`, not text".to_owned()),
                (5, 8, "`limit` must be a whole number, 0 or more, not a number".to_owned()),
            ]
        );
    }
}
