//! A section as written.

use std::sync::Arc;

use super::spanned::{Spanned, facts, files, flag, spanned, text, texts};
use crate::{finding::Code, yaml::Fields};

macro_rules! raw_section {
    ($($(#[doc = $doc:literal])+ $field:ident: $ty:ty = $read:ident($key:literal);)+) => {
        /// One of a message's `sections`.
        #[derive(Debug, Clone)]
        pub(crate) struct RawSection {
            /// `id`.
            pub id: Spanned<String>,
            /// `remove`.
            pub remove: bool,
            /// `move`: whether it is taken out of the message that the base has it in.
            pub moves: bool,
            /// `after`: the section that a new one follows.
            pub after: Option<Spanned<String>>,
            $($(#[doc = $doc])+ pub $field: Option<$ty>,)+
        }

        impl RawSection {
            pub(super) fn read(mut fields: Fields<'_, '_>, file: &Arc<str>) -> Option<Self> {
                let id = text(&mut fields, "id", file);
                if id.is_none() {
                    fields.faults().add(Code::InvalidValue, fields.at(), "a section needs an `id`");
                }
                let section = Self {
                    id: id.clone().unwrap_or_else(|| spanned(String::new(), fields.at(), file)),
                    remove: fields.bool("remove").unwrap_or(false),
                    moves: fields.bool("move").unwrap_or(false),
                    after: text(&mut fields, "after", file),
                    $($field: $read(&mut fields, $key, file),)+
                };
                fields.finish();
                id.map(|_| section)
            }

            /// This section, with what it leaves out taken from `base`.
            #[must_use]
            pub(crate) fn over(self, base: Self) -> Self {
                Self { id: self.id, remove: self.remove, moves: self.moves, after: self.after, $($field: self.$field.or(base.$field),)+ }
            }
        }
    };
}

raw_section! {
    /// `when`.
    when: Spanned<String> = text("when");
    /// `omitted`.
    omitted: Spanned<String> = text("omitted");
    /// `stability`.
    stability: Spanned<String> = text("stability");
    /// `stages`.
    stages: Spanned<Vec<String>> = texts("stages");
    /// `separator`.
    separator: Spanned<String> = text("separator");
    /// `file`.
    file: Spanned<String> = text("file");
    /// `keep_empty`.
    keep_empty: bool = flag("keep_empty");
    /// `fallback`.
    fallback: Spanned<String> = text("fallback");
    /// `limit`.
    limit: Spanned<String> = text("limit");
    /// `budget`.
    budget: Spanned<String> = text("budget");
    /// `whole`.
    whole: bool = flag("whole");
    /// `template`.
    template: Spanned<String> = text("template");
    /// `each`.
    each: Spanned<String> = text("each");
    /// `header`.
    header: Spanned<String> = text("header");
    /// `entry`.
    entry: Spanned<String> = text("entry");
    /// `between`.
    between: Spanned<String> = text("between");
    /// `footer`.
    footer: Spanned<String> = text("footer");
    /// `kind`.
    kind: Spanned<String> = text("kind");
    /// `facts`: label and value.
    facts: Vec<(Spanned<String>, Spanned<String>)> = facts("facts");
    /// `files`: path and purpose.
    files: Vec<(Spanned<String>, Spanned<String>)> = files("files");
}
