//! When output has colour, and the help.

use super::support::{command, folder, ran, repository, run};

const ESCAPE: char = '\u{1b}';

#[test]
fn colour_is_chosen_by_flag_and_environment() {
    let home = folder(&[("ws/workspace.yaml", "agnet: {}\n")]);
    for (arguments, environment, has_colour) in [
        (&[][..], &[][..], false),
        (&["--color", "always"], &[], true),
        (&["--color", "always"], &[("NO_COLOR", "1")], true),
        (&["--color", "never"], &[("CLICOLOR_FORCE", "1")], false),
        (&[], &[("CLICOLOR_FORCE", "1")], true),
        (&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
    ] {
        for (line, code) in [(&["check", "ws"][..], 1), (&["render", "ws"], 1)] {
            let mut command = command(home.path(), &[line, arguments].concat());
            let output = ran(command.env_remove("NO_COLOR").envs(environment.iter().copied()));
            let text = if line[0] == "check" { output.out } else { output.err };
            assert_eq!(
                (output.code, text.contains(ESCAPE)),
                (code, has_colour),
                "{line:?} {arguments:?} {environment:?}"
            );
        }
    }
}

/// `script` gives the command a terminal.
#[test]
fn a_terminal_has_colour_unless_it_is_dumb() {
    for (environment, has_colour) in [
        (&[("TERM", "xterm")][..], true),
        (&[("TERM", "dumb")], false),
        (&[("TERM", "dumb"), ("CI", "true")], false),
        (&[("TERM", "xterm"), ("NO_COLOR", "1")], false),
    ] {
        let line = format!("{} render workspace-example", env!("CARGO_BIN_EXE_promptd"));
        let mut script = std::process::Command::new("script");
        script.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(repository());
        script.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("CI").envs(environment.iter().copied());
        let output = ran(&mut script);
        assert!(output.out.contains("━━ skeleton"), "{}", output.out);
        assert_eq!(output.out.contains(ESCAPE), has_colour, "{environment:?}");
    }
}

#[test]
fn help_is_a_command_too() {
    let output = run(&repository(), &["help", "serve"]);
    assert_eq!((output.code, output.out), (0, run(&repository(), &["serve", "--help"]).out));
}
