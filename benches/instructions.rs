//! Instructions and allocations of an answer, counted by valgrind: `cargo bench --bench instructions`.
//!
//! A busy machine does not change them, and the random seeds of hash maps by less than 1 %, so that a small step back is seen: it
//! fails where one is more than [`MAX_GROWTH`] percent above what docs/instructions.json has, if the compiler is the one that it
//! names. `-- --record` writes the file, and the table of docs/performance.md.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_possible_wrap,
    reason = "a benchmark"
)]

#[path = "common/answer.rs"]
mod answer;
#[path = "load/bare.rs"]
#[expect(dead_code, reason = "what the load bench alone uses")]
mod bare;
#[path = "common/calls.rs"]
mod calls;
#[path = "load/requests.rs"]
#[expect(dead_code, reason = "what the load bench alone uses")]
mod requests;
#[path = "common/site.rs"]
mod site;

use std::{
    env,
    fmt::Write as _,
    fs,
    hint::black_box,
    path::Path,
    process::{Command, ExitCode},
    sync::Arc,
};

use promptd_core::{profile::ProfileSet, prompt, tokens::Encoding};
use serde::{Deserialize, Serialize};

const JSON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/instructions.json");
const MARKDOWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/performance.md");

/// How much a count may grow over the recorded one, in percent.
const MAX_GROWTH: u64 = 3;

/// Two runs of so many rounds: their difference leaves out what the start costs.
const ROUNDS: [u64; 2] = [100, 600];

/// The steps of an answer, and a whole call with its client and without a connection: of promptd, and of a service that gives a copy of
/// the answer.
const STEPS: [&str; 5] = ["assemble", "count tokens", "encode", "call", "bare call"];

#[derive(Serialize, Deserialize)]
struct Record {
    /// Other compilers make other code.
    compiler: String,
    steps: Vec<Step>,
}

/// What one round of a step costs.
#[derive(Serialize, Deserialize)]
struct Step {
    name: String,
    instructions: u64,
    allocations: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().collect();
    if let [_, flag, step, rounds, folder] = &*arguments
        && flag == "--work"
    {
        work(step, rounds.parse().unwrap(), Path::new(folder));
        return ExitCode::SUCCESS;
    }
    let now = measure();
    print!("{}", now.table());
    if arguments.iter().any(|argument| argument == "--record") {
        now.write();
        return ExitCode::SUCCESS;
    }
    now.compare(&serde_json::from_str(&fs::read_to_string(JSON).unwrap()).unwrap())
}

/// What is measured, in a process of its own below valgrind.
fn work(step: &str, rounds: u64, folder: &Path) {
    match step {
        "call" => return calls::promptd(folder, rounds),
        "bare call" => return calls::bare(folder, rounds),
        _ => {}
    }
    let profiles = Arc::new(ProfileSet::built_in());
    let snapshot = answer::load(&folder.join("typical"), &profiles);
    let profile = Arc::clone(snapshot.profiles.get("five-layer").unwrap());
    let turn = answer::turn();
    let assemble = || prompt::assemble(&snapshot, &profile, &turn).unwrap();
    let prompt = assemble();
    for _ in 0..rounds {
        match step {
            "assemble" => drop(black_box(assemble())),
            "count tokens" => {
                let mut prompt = prompt.clone();
                prompt::count_tokens(&mut prompt, &snapshot, &profile, Encoding::O200kBase);
                black_box(prompt.size.tokens);
            }
            "encode" => drop(black_box(answer::encode(&prompt, &snapshot, &profile))),
            other => panic!("no step {other}"),
        }
    }
}

fn measure() -> Record {
    let folder = tempfile::tempdir().unwrap();
    site::typical(&folder.path().join("typical"));
    let step = |name: &str| Step {
        name: name.to_owned(),
        instructions: count(
            name,
            folder.path(),
            &["--tool=callgrind", "--callgrind-out-file=/dev/null"],
            "Collected :",
        ),
        allocations: count(name, folder.path(), &["--tool=memcheck"], "total heap usage:"),
    };
    let compiler =
        Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("--version").output().unwrap();
    let compiler = String::from_utf8(compiler.stdout).unwrap().trim().to_owned();
    Record { compiler, steps: STEPS.iter().map(|name| step(name)).collect() }
}

/// The number that valgrind prints after a label, for one round of a step.
fn count(step: &str, folder: &Path, tool: &[&str], label: &str) -> u64 {
    let [few, many] = ROUNDS.map(|rounds| {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(tool).arg(env::current_exe().unwrap()).args(["--work", step, &rounds.to_string()]).arg(folder);
        let output = valgrind.output().unwrap_or_else(|error| panic!("cannot run valgrind, which counts: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let number = said.split_once(label).and_then(|(_, rest)| rest.trim_start().split(' ').next()).unwrap();
        number.trim().lines().next().unwrap().replace(',', "").parse::<u64>().unwrap()
    });
    // To the nearest: what only the start costs differs a little from run to run.
    let rounds = ROUNDS[1] - ROUNDS[0];
    (many - few + rounds / 2) / rounds
}

impl Record {
    fn table(&self) -> String {
        let mut table = format!("{}, `cargo bench`'s profile.\n\n", self.compiler);
        table.push_str("| step | instructions | allocations |\n|---|--:|--:|\n");
        for Step { name, instructions, allocations } in &self.steps {
            writeln!(table, "| {name} | {instructions} | {allocations} |").unwrap();
        }
        table
    }

    fn write(&self) {
        const BEGIN: &str = "<!-- instructions:begin -->\n";
        fs::write(JSON, format!("{}\n", serde_json::to_string_pretty(self).unwrap())).unwrap();
        let markdown = fs::read_to_string(MARKDOWN).unwrap();
        let begin = markdown.find(BEGIN).unwrap() + BEGIN.len();
        let end = markdown.find("<!-- instructions:end -->").unwrap();
        fs::write(MARKDOWN, format!("{}{}{}", &markdown[..begin], self.table(), &markdown[end..])).unwrap();
    }

    fn compare(&self, recorded: &Self) -> ExitCode {
        if self.compiler != recorded.compiler {
            println!("NOT COMPARED: docs/instructions.json is of {}; `-- --record` writes it anew", recorded.compiler);
            return ExitCode::SUCCESS;
        }
        let mut code = ExitCode::SUCCESS;
        for (now, then) in self.steps.iter().zip(&recorded.steps) {
            let most = |count: u64| count * (100 + MAX_GROWTH) / 100;
            if now.instructions > most(then.instructions) || now.allocations > most(then.allocations) {
                eprintln!(
                    "{} takes {} instructions and {} allocations, recorded are {} and {}: make it cheaper, or `-- --record` it",
                    now.name, now.instructions, now.allocations, then.instructions, then.allocations
                );
                code = ExitCode::FAILURE;
            }
        }
        code
    }
}
