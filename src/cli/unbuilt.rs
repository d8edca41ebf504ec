//! Commands and options of parts that this build lacks.

use std::env;

use clap::{
    CommandFactory as _, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};
use promptd::features::{FEATURES, Feature};

use super::Arguments;

/// The error, or a better one where what clap does not know is of a part that this build lacks.
pub(super) fn explain(error: Error) -> Error {
    let given: Vec<_> = env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    match lacking().find_map(|feature| said(feature, &error, &given)) {
        Some(message) => Arguments::command().error(error.kind(), message),
        None => error,
    }
}

/// Where the command is of a part that this build lacks: that it is, and how to get it.
pub(super) fn command(name: &str) -> Option<String> {
    lacking().find_map(|feature| command_of(feature, name))
}

fn lacking() -> impl Iterator<Item = &'static Feature> {
    FEATURES.iter().filter(|feature| !feature.is_built)
}

/// What to say where the error is about the feature.
fn said(feature: &Feature, error: &Error, given: &[String]) -> Option<String> {
    let about = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => command_of(feature, about(ContextKind::InvalidSubcommand)?),
        ErrorKind::UnknownArgument => option_of(feature, about(ContextKind::InvalidArg)?, given),
        _ => None,
    }
}

fn command_of(feature: &Feature, name: &str) -> Option<String> {
    let command = feature.commands.iter().find(|command| **command == name)?;
    Some(format!("`promptd {command}` is {}", feature.lacking))
}

/// An option of a command that is given too: others have none of this name.
fn option_of(feature: &Feature, name: &str, given: &[String]) -> Option<String> {
    let is_given = |command: &str| given.iter().any(|argument| argument == command);
    let (command, option) = feature.options.iter().find(|(command, option)| *option == name && is_given(command))?;
    Some(format!("`promptd {command} {option}` is {}", feature.lacking))
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    #[test]
    fn what_clap_does_not_know_is_said_to_be_of_a_feature() {
        let without = Command::new("promptd").subcommands([Command::new("serve"), Command::new("render")]);
        let cases: &[(&[&str], Option<&str>)] = &[
            (&["memory", "export", "--session", "s"], Some("promptd memory")),
            (&["gc"], Some("promptd gc")),
            (&["help", "replay"], Some("promptd replay")),
            (&["serve", "--memory", "d"], Some("promptd serve --memory")),
            (&["serve", "--inspector=off"], Some("promptd serve --inspector")),
            (&["render", "--memory", "d"], None),
            (&["serve", "memory"], None),
            (&["serv"], None),
        ];
        for (arguments, wanted) in cases {
            let error = without.clone().try_get_matches_from([&["promptd"], *arguments].concat()).unwrap_err();
            let given: Vec<_> = arguments.iter().map(|&argument| argument.to_owned()).collect();
            let said = FEATURES.iter().find_map(|feature| said(feature, &error, &given));
            let said = said.as_deref().and_then(|said| said.split('`').nth(1));
            assert_eq!(said, *wanted, "{arguments:?}: {error}");
        }
    }

    #[test]
    fn what_a_built_feature_lists_is_there() {
        let promptd = Arguments::command();
        let find = |name: &str| promptd.find_subcommand(name);
        for feature in FEATURES.iter().filter(|feature| feature.is_built) {
            for command in feature.commands {
                assert!(find(command).is_some(), "{command}");
            }
            for (command, option) in feature.options {
                // A command of another feature may not be there.
                let Some(command) = find(command) else { continue };
                let mut names = command.get_arguments().filter_map(clap::Arg::get_long_and_visible_aliases).flatten();
                assert!(names.any(|name| Some(name) == option.strip_prefix("--")), "{} {option}", command.get_name());
            }
        }
    }
}
