//! What is known of providers' prompt caches: `config/providers.yaml`, as checked data.

use std::{fmt::Write as _, sync::LazyLock};

use super::RenderFormat;
use crate::{
    finding::{Code, Finding},
    globs::NameGlobs,
    turn::Role,
    yaml::{
        self, Fields,
        shape::{Key, Shape, Text, names},
    },
};

/// The file's name in findings.
const FILE: &str = "providers.yaml";

/// The providers, each with the formats that it takes; every format but plain text has one.
#[derive(Debug)]
pub struct ProviderTable(Vec<Provider>);

/// What is known of a provider's prompt cache.
#[derive(Debug)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// The formats that it takes.
    pub formats: Vec<RenderFormat>,
    /// The parts of a request, in the order in which it reads them.
    pub order: Vec<&'static str>,
    /// How many marks a request may have; 0: it finds by itself what is the same.
    pub marks: usize,
    /// The roles whose messages may have a mark.
    pub marks_on: Vec<Role>,
    /// How many blocks before a mark it looks for a prefix that it has kept.
    pub lookback_blocks: usize,
    /// How long it keeps a prefix, as a request says it, the default first.
    pub ttl: Vec<String>,
    /// The role that a system message may have behind the conversation; `None`: it goes to the end of the system part.
    pub behind_conversation: Option<Role>,
    /// The fewest tokens of a prefix that is kept, by model.
    pub minimum_tokens: Vec<MinimumTokens>,
}

/// The fewest tokens of a prefix that is kept, of some models.
#[derive(Debug)]
pub struct MinimumTokens {
    /// The glob as written.
    pub models: String,
    /// How many.
    pub tokens: usize,
    glob: NameGlobs,
}

const FORMATS: [(&str, RenderFormat); 6] = [
    ("openai-chat", RenderFormat::OpenaiChat),
    ("openai-responses", RenderFormat::OpenaiResponses),
    ("anthropic-messages", RenderFormat::AnthropicMessages),
    ("bedrock-converse", RenderFormat::BedrockConverse),
    ("openrouter-chat", RenderFormat::OpenrouterChat),
    ("gemini", RenderFormat::Gemini),
];
const ROLES: [(&str, Role); 4] =
    [("system", Role::System), ("user", Role::User), ("assistant", Role::Assistant), ("tool", Role::Tool)];
const BEHIND: [(&str, Option<Role>); 3] = [("system", Some(Role::System)), ("user", Some(Role::User)), ("none", None)];
const FORMAT_WORDS: [&str; 6] = names(&FORMATS);
const ROLE_WORDS: [&str; 4] = names(&ROLES);
const BEHIND_WORDS: [&str; 3] = names(&BEHIND);

const ROOT: &[Key] =
    &[Key::new("providers", Shape::Each { keys: PROVIDER, most: usize::MAX }, "The providers.").required()];

const PROVIDER: &[Key] = &[
    Key::new("name", Shape::Text(Text::ANY), "Its name.").required(),
    Key::new("formats", Shape::Choices { words: &FORMAT_WORDS, least: 1 }, "The formats that it takes.").required(),
    Key::new(
        "order",
        Shape::Choices { words: &["tools", "system", "messages"], least: 1 },
        "The parts of a request, in the order in which it reads them.",
    )
    .required(),
    Key::new("marks", Shape::Count, "How many marks a request may have.").required(),
    Key::new("marks_on", Shape::Choices { words: &ROLE_WORDS, least: 1 }, "The roles whose messages may have a mark."),
    Key::new("lookback_blocks", Shape::Count, "How many blocks before a mark it looks for a prefix."),
    Key::new("ttl", Shape::Texts(Text::ANY), "How long it keeps a prefix, the default first."),
    Key::new("behind_conversation", Shape::Choice(&BEHIND_WORDS), "The role of a system message there.").required(),
    Key::new("minimum_tokens", Shape::Each { keys: MINIMUM, most: usize::MAX }, "By model.").required(),
];

const MINIMUM: &[Key] = &[
    Key::new("models", Shape::Text(Text::ANY), "A glob for the names of models.").required(),
    Key::new("tokens", Shape::Count, "The fewest tokens of a prefix that is kept.").required(),
];

static BUILT_IN: LazyLock<ProviderTable> = LazyLock::new(|| {
    let text = include_str!("../../../../config/providers.yaml");
    // A test holds the file to be valid; without it no format would have marks.
    ProviderTable::parse(text).unwrap_or(ProviderTable(Vec::new()))
});

/// A provider that nothing is known of: no marks.
static UNKNOWN: Provider = Provider {
    name: String::new(),
    formats: Vec::new(),
    order: Vec::new(),
    marks: 0,
    marks_on: Vec::new(),
    lookback_blocks: 0,
    ttl: Vec::new(),
    behind_conversation: None,
    minimum_tokens: Vec::new(),
};

impl ProviderTable {
    /// The table that the service ships.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Reads a table.
    ///
    /// # Errors
    ///
    /// Every fault of the text, with its place: a syntax error, an unknown key or word, a format that no provider or more than
    /// one takes, minimum sizes whose last line does not match every model.
    pub fn parse(text: &str) -> Result<Self, Vec<Finding>> {
        let table = yaml::read(text, |node, faults| {
            let mut root = Fields::root(node, faults).by(ROOT);
            let providers = root.each("providers").into_iter().map(provider).collect();
            root.finish();
            let table = Self(providers);
            for (word, format) in FORMATS {
                let count = table.0.iter().filter(|provider| provider.formats.contains(&format)).count();
                if count != 1 {
                    let message = format!("the format `{word}` must be that of one provider, not of {count}");
                    faults.add(Code::InvalidValue, node.at, message);
                }
            }
            table
        });
        table.map_err(|faults| faults.into_iter().map(|fault| fault.into_finding(FILE)).collect())
    }

    /// All providers, in order.
    #[must_use]
    pub fn providers(&self) -> &[Provider] {
        &self.0
    }

    /// The provider that takes a format.
    #[must_use]
    pub fn of(&self, format: RenderFormat) -> &Provider {
        self.0.iter().find(|provider| provider.formats.contains(&format)).unwrap_or(&UNKNOWN)
    }

    /// The table as Markdown, for docs/reference.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out = String::from(
            "| Provider | Formats | Reads in this order | Marks | Marks on | Looks back | TTL | A system message behind the conversation |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        );
        for provider in &self.0 {
            let formats: Vec<_> = provider.formats.iter().map(|format| format!("`{}`", format.as_str())).collect();
            let roles: Vec<_> = provider.marks_on.iter().map(|role| role.as_str()).collect();
            let marks = if provider.marks == 0 { "none: automatic".to_owned() } else { provider.marks.to_string() };
            let back =
                if provider.marks == 0 { "—".to_owned() } else { format!("{} blocks", provider.lookback_blocks) };
            let behind = match provider.behind_conversation {
                Some(role) => format!("has the role `{}`", role.as_str()),
                None => "is the last block of the system part".to_owned(),
            };
            let _ = writeln!(
                out,
                "| {} | {} | {} | {marks} | {} | {back} | {} | {behind} |",
                provider.name,
                formats.join(", "),
                provider.order.join(", "),
                or_dash(&roles.join(", ")),
                or_dash(&provider.ttl.join(", ")),
            );
        }
        out.push_str("\n| Provider | Models | Fewest tokens of a prefix |\n| --- | --- | --- |\n");
        for provider in &self.0 {
            for MinimumTokens { models, tokens, .. } in &provider.minimum_tokens {
                let _ = writeln!(out, "| {} | `{models}` | {tokens} |", provider.name);
            }
        }
        out
    }
}

impl Provider {
    /// The fewest tokens of a prefix that it keeps for a model.
    #[must_use]
    pub fn minimum_tokens(&self, model: &str) -> usize {
        let line = self.minimum_tokens.iter().find(|line| line.glob.matches(model));
        line.map_or(0, |line| line.tokens)
    }

    /// Whether the system's texts come before all messages, wherever they are in the prompt.
    #[must_use]
    pub fn takes_system_apart(&self) -> bool {
        self.order.contains(&"system")
    }
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "—" } else { text }
}

fn provider(mut fields: Fields<'_, '_>) -> Provider {
    let words = |fields: &mut Fields<'_, '_>, key| -> Vec<&'static str> {
        fields.choices(key).into_iter().flatten().map(|(word, _)| word).collect()
    };
    let formats = words(&mut fields, "formats");
    let marks_on = words(&mut fields, "marks_on");
    let behind = fields.choice("behind_conversation");
    let at = fields.mark("minimum_tokens");
    let minimum_tokens: Vec<_> = fields.each("minimum_tokens").into_iter().filter_map(minimum).collect();
    if minimum_tokens.last().is_none_or(|line| line.models != "*") {
        fields.faults().add(Code::InvalidValue, at, "the last line of `minimum_tokens` must be that of the models `*`");
    }
    let provider = Provider {
        name: fields.text("name").unwrap_or_default().to_owned(),
        formats: FORMATS.iter().filter(|(word, _)| formats.contains(word)).map(|(_, format)| *format).collect(),
        order: words(&mut fields, "order"),
        marks: fields.count("marks").unwrap_or_default(),
        marks_on: ROLES.iter().filter(|(word, _)| marks_on.contains(word)).map(|(_, role)| *role).collect(),
        lookback_blocks: fields.count("lookback_blocks").unwrap_or_default(),
        ttl: fields.texts("ttl").into_iter().flatten().map(|(text, _)| text.to_owned()).collect(),
        behind_conversation: BEHIND.iter().find(|(word, _)| behind == Some(*word)).and_then(|(_, role)| *role),
        minimum_tokens,
    };
    fields.finish();
    provider
}

fn minimum(mut fields: Fields<'_, '_>) -> Option<MinimumTokens> {
    let models = fields.text("models").unwrap_or_default().to_owned();
    let tokens = fields.count("tokens").unwrap_or_default();
    let glob = NameGlobs::compile([&models]).map_err(|error| {
        fields.faults().add(Code::InvalidValue, fields.mark("models"), error.to_string());
    });
    fields.finish();
    Some(MinimumTokens { models, tokens, glob: glob.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = include_str!("../../../../config/providers.yaml");

    fn faults(text: &str) -> Vec<String> {
        let found = ProviderTable::parse(text).err().unwrap_or_default();
        found.iter().map(|finding| format!("{} {}", finding.place, finding.message)).collect()
    }

    #[test]
    fn the_table_that_is_shipped_is_valid_and_has_a_provider_for_each_format() {
        assert_eq!(faults(SHIPPED), Vec::<String>::new());
        for format in RenderFormat::ALL.into_iter().filter(|format| *format != RenderFormat::Text) {
            assert!(!ProviderTable::built_in().of(format).name.is_empty(), "{format:?}");
        }
        assert_eq!(FORMATS.len() + 1, RenderFormat::ALL.len());
    }

    #[test]
    fn a_new_model_is_a_line() {
        let table = ProviderTable::built_in();
        let provider = table.of(RenderFormat::AnthropicMessages);
        for (model, tokens) in [
            ("claude-opus-5-20261101", 512),
            ("claude-sonnet-5", 1024),
            ("claude-haiku-4-5", 4096),
            ("claude-next-6", 4096),
        ] {
            assert_eq!(provider.minimum_tokens(model), tokens, "{model}");
        }
        let line = "      - { models: \"claude-next-6*\", tokens: 256 }\n";
        let at = SHIPPED.find("      - { models: \"*\"").unwrap();
        let text = [&SHIPPED[..at], line, &SHIPPED[at..]].concat();
        let table = ProviderTable::parse(&text).unwrap();
        let provider = table.of(RenderFormat::AnthropicMessages);
        assert_eq!(
            (provider.minimum_tokens("claude-next-6-1"), provider.minimum_tokens("claude-opus-4-5")),
            (256, 4096)
        );
    }

    #[test]
    fn faults_have_their_line() {
        for (from, to, expected) in [
            (
                "formats: [gemini]",
                "formats: [gemmini]",
                "providers.yaml:63:15 `providers[4].formats`: unknown value `gemmini`",
            ),
            ("formats: [gemini]", "formats: [openai-chat]", "`gemini` must be that of one provider, not of 0"),
            ("marks: 4", "marks: many", "providers.yaml:9:12 `providers[0].marks` must be a whole number"),
            ("{ models: \"*\", tokens: 4096 }", "{ models: \"x\", tokens: 4096 }", "must be that of the models `*`"),
            ("lookback_blocks", "lookback", "unknown key"),
            ("behind_conversation: user", "behind_conversation: tool", "behind_conversation"),
        ] {
            let text = SHIPPED.replacen(from, to, 1);
            assert_ne!(text, SHIPPED, "{from}");
            assert!(faults(&text).iter().any(|fault| fault.contains(expected)), "{to}: {:?}", faults(&text));
        }
    }
}
