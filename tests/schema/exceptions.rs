//! What a schema cannot say, as a list with reasons.

use std::fs;

use serde::Deserialize;
use serde_json::Value;

use crate::readers::Kind;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    /// The kinds of files.
    of: Vec<String>,
    /// A part of the fault that the reader has where the schema has none.
    reader: Option<String>,
    /// A part of the error that the schema has where the reader has none.
    schema: Option<String>,
    /// Why it cannot be otherwise.
    reason: String,
}

/// Those of one kind of file, each with whether it was needed.
pub(crate) struct Exceptions(Vec<(Exception, bool)>);

/// What the list calls a profile that extends another.
const EXTENDING: &str = "extending profile";

impl Exceptions {
    pub(crate) fn of(kind: Kind) -> Self {
        let all: Vec<Exception> =
            serde_yaml::from_str(&fs::read_to_string("tests/schema/exceptions.yaml").unwrap()).unwrap();
        assert!(all.iter().all(|one| one.reader.is_some() != one.schema.is_some() && !one.reason.is_empty()));
        let concerns = |name: &String| name == kind.name() || (name == EXTENDING && kind == Kind::Profile);
        Self(all.into_iter().filter(|one| one.of.iter().any(concerns)).map(|one| (one, false)).collect())
    }

    /// The reader's faults that a schema could know of.
    pub(crate) fn not_allowed_to_reader(&mut self, file: &Value, faults: &[String]) -> Vec<String> {
        self.not_allowed(file, faults, |exception| exception.reader.as_deref())
    }

    /// The schema's errors that it could avoid.
    pub(crate) fn not_allowed_to_schema(&mut self, file: &Value, errors: &[String]) -> Vec<String> {
        self.not_allowed(file, errors, |exception| exception.schema.as_deref())
    }

    fn not_allowed(
        &mut self,
        file: &Value,
        messages: &[String],
        part: impl Fn(&Exception) -> Option<&str>,
    ) -> Vec<String> {
        let extends = file.get("extends").is_some_and(Value::is_string);
        let concerns = |one: &Exception| extends || one.of.iter().any(|name| name != EXTENDING);
        let mut is_allowed = |message: &&String| {
            let excuses = |one: &Exception| concerns(one) && part(one).is_some_and(|part| message.contains(part));
            self.0.iter_mut().find(|(one, _)| excuses(one)).map(|(_, used)| *used = true).is_some()
        };
        messages.iter().filter(|message| !is_allowed(message)).cloned().collect()
    }

    pub(crate) fn unused(&self) -> Vec<String> {
        let unused = self.0.iter().filter(|(_, used)| !used);
        unused.filter_map(|(one, _)| one.reader.clone().or_else(|| one.schema.clone())).collect()
    }
}
