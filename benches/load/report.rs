//! The table, the record, and whether a run is behind it.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::{
    drive::{Run, Shape, quantile},
    machine,
    own_texts::OwnTexts,
    requests::Mode,
};

const JSON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/performance.json");
const MARKDOWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/performance.md");

/// The shape that the targets are set for.
const TARGET_SHAPE: &str = "4×16";

/// How far a ratio may fall behind the recorded one before a short run fails.
const TOLERANCE: f64 = 1.15;

/// One mode and shape, promptd against the bare server: medians over the rounds.
#[derive(Debug, Serialize, Deserialize)]
pub struct Comparison {
    mode: String,
    shape: String,
    promptd: Figures,
    bare: Figures,
    cpu_ratio: f64,
    /// Three of four rounds were at most this: what a short run is held to.
    cpu_ratio_upper: f64,
    p50_ratio: f64,
    /// Set where tokens are counted.
    own_texts: Option<OwnTexts>,
}

/// Microseconds, except for calls a second.
#[derive(Debug, Serialize, Deserialize)]
struct Figures {
    cpu: f64,
    per_second: f64,
    p50: f64,
    p99: f64,
}

/// All comparisons of a run, and the machine.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    machine: String,
    comparisons: Vec<Comparison>,
}

impl Comparison {
    pub fn new(mode: Mode, shape: Shape, rounds: &[Vec<Run>; 2], own_texts: Option<OwnTexts>) -> Self {
        let figures = |runs: &[Run]| Figures {
            cpu: median(runs, Run::cpu_per_call),
            per_second: median(runs, Run::per_second),
            p50: median(runs, |run| run.quantile(0.5)),
            p99: median(runs, |run| run.quantile(0.99)),
        };
        let ratio = |figure: fn(&Run) -> f64, q: f64| {
            let pairs = rounds[0].iter().zip(&rounds[1]);
            quantile(q, pairs.map(|(ours, bare)| figure(ours) / figure(bare)).collect())
        };
        Self {
            mode: mode.as_str().into(),
            shape: shape.to_string(),
            promptd: figures(&rounds[0]),
            bare: figures(&rounds[1]),
            cpu_ratio: ratio(Run::cpu_per_call, 0.5),
            cpu_ratio_upper: ratio(Run::cpu_per_call, 0.75),
            p50_ratio: ratio(|run| run.quantile(0.5), 0.5),
            own_texts,
        }
    }
}

fn median(runs: &[Run], figure: impl Fn(&Run) -> f64) -> f64 {
    quantile(0.5, runs.iter().map(figure).collect())
}

impl Record {
    pub fn new(comparisons: Vec<Comparison>) -> Self {
        Self { machine: machine::describe(), comparisons }
    }

    /// The table, as Markdown: a terminal shows it well too.
    pub fn table(&self) -> String {
        let mut table = String::from(
            "| mode | shape | CPU µs/call | bare | ratio | calls/s | bare | p50 µs | bare | ratio | p99 µs | bare |\n\
             |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        );
        for Comparison { mode, shape, promptd, bare, cpu_ratio, p50_ratio, .. } in &self.comparisons {
            let _ = writeln!(
                table,
                "| {mode} | {shape} | {:.1} | {:.1} | **{cpu_ratio:.2}** | {:.0} | {:.0} | {:.0} | {:.0} | {p50_ratio:.2} | {:.0} | {:.0} |",
                promptd.cpu,
                bare.cpu,
                promptd.per_second,
                bare.per_second,
                promptd.p50,
                bare.p50,
                promptd.p99,
                bare.p99,
            );
        }
        for Comparison { mode, shape, promptd, bare, own_texts, .. } in &self.comparisons {
            let Some(OwnTexts { chars, micros }) = own_texts else { continue };
            let rest = (promptd.cpu - micros) / bare.cpu;
            let _ = write!(
                table,
                "\n`{mode}` {shape}: counting the turn's own {chars:.0} characters takes {micros:.1} µs of a call; the ratio \
                 of the rest is **{rest:.2}**.\n"
            );
        }
        table
    }

    /// Writes the JSON, and the table between the markers of the document.
    pub fn write(&self) {
        std::fs::write(JSON, serde_json::to_string_pretty(self).unwrap() + "\n").unwrap();
        let document = std::fs::read_to_string(MARKDOWN).unwrap();
        let (head, rest) = document.split_once("<!-- load:begin -->\n").unwrap();
        let (_, tail) = rest.split_once("<!-- load:end -->").unwrap();
        let table = format!("{head}<!-- load:begin -->\n{}\n\n{}<!-- load:end -->{tail}", self.machine, self.table());
        std::fs::write(MARKDOWN, table).unwrap();
    }

    /// What is behind the recorded ratios of processor time, in the shape that the targets are set for: with one call
    /// at a time it is the scheduler that is measured, not the server.
    pub fn behind(&self) -> Vec<String> {
        let recorded: Self = serde_json::from_str(&std::fs::read_to_string(JSON).unwrap()).unwrap();
        let twin = |ours: &&Comparison| {
            recorded.comparisons.iter().find(|other| (&other.mode, &other.shape) == (&ours.mode, &ours.shape))
        };
        let fault = |ours: &Comparison| {
            let then = twin(&ours)?;
            let behind = ours.shape == TARGET_SHAPE && ours.cpu_ratio > then.cpu_ratio_upper * TOLERANCE;
            let Comparison { mode, shape, cpu_ratio, .. } = ours;
            behind.then(|| format!("{mode} {shape}: {cpu_ratio:.2}, recorded {:.2}", then.cpu_ratio_upper))
        };
        self.comparisons.iter().filter_map(fault).collect()
    }
}
