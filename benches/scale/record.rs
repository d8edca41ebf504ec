//! The figures of a run: as JSON, as tables, as a picture.

use std::{fmt::Write as _, fs};

use serde::{Deserialize, Serialize};

use crate::{document, fleet, followers, layers, linear, plot, replicas, resident, watches, workspaces};

const JSON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scale.json");
const PLOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/linear.svg");
const PERFORMANCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/performance.md");
const SCALING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scaling.md");

/// All of a run; what it left out keeps what was recorded before.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    pub machine: String,
    pub workspaces: Option<workspaces::Figures>,
    pub fleet: Option<fleet::Figures>,
    pub resident: Option<resident::Figures>,
    pub watches: Option<watches::Figures>,
    pub followers: Option<followers::Figures>,
    pub layers: Option<layers::Figures>,
    pub linear: Option<Vec<linear::Growth>>,
    pub replicas: Option<replicas::Figures>,
}

impl Record {
    /// What was recorded before; empty if nothing was.
    pub fn before() -> Self {
        fs::read_to_string(JSON).map(|json| serde_json::from_str(&json).unwrap()).unwrap_or_default()
    }

    /// The gates that were missed. `slack`: what a p99, or a wait, may be over its gate.
    pub fn faults(&self, slack: f64) -> Vec<String> {
        let workspaces = self.workspaces.iter().flat_map(|figures| figures.faults(slack));
        let fleet = self.fleet.iter().flat_map(|figures| figures.faults(slack));
        let resident = self.resident.iter().flat_map(|figures| figures.faults(slack));
        let watches = self.watches.iter().flat_map(watches::Figures::faults);
        let followers = self.followers.iter().flat_map(|figures| figures.faults(slack));
        let layers = self.layers.iter().flat_map(|figures| figures.faults(slack));
        let linear = self.linear.iter().flatten().flat_map(linear::Growth::faults);
        let replicas = self.replicas.iter().flat_map(replicas::Figures::faults);
        workspaces
            .chain(fleet)
            .chain(resident)
            .chain(watches)
            .chain(followers)
            .chain(layers)
            .chain(linear)
            .chain(replicas)
            .collect()
    }

    /// What `docs/performance.md` has, as Markdown: a terminal shows it well too.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}\n", self.machine);
        if let Some(figures) = &self.workspaces {
            let _ = write!(text, "\n### Many workspaces\n\n{}", figures.markdown());
        }
        if let Some(figures) = &self.fleet {
            let _ = write!(text, "\n### As many workspaces as a small machine is to serve\n\n{}", figures.markdown());
        }
        if let Some(figures) = &self.resident {
            let _ = write!(text, "\n### Few of many workspaces loaded\n\n{}", figures.markdown());
        }
        if let Some(figures) = &self.watches {
            let _ = write!(text, "\n### Many watches\n\n{}", figures.markdown());
        }
        if let Some(figures) = &self.followers {
            let _ = write!(text, "\n### Many followers\n\n{}", figures.markdown());
        }
        if let Some(figures) = &self.layers {
            let _ = write!(text, "\n### Many heirs\n\n{}", figures.markdown());
        }
        if let Some(growths) = &self.linear {
            let _ = write!(text, "\n### Large parts\n\n{}\n![time by size](linear.svg)\n", growth_table(growths));
        }
        text
    }

    pub fn replicas_markdown(&self) -> String {
        let figures = self.replicas.as_ref().map(replicas::Figures::markdown).unwrap_or_default();
        format!("{}\n\n{figures}", self.machine)
    }

    /// Writes the JSON, the picture, and the tables between the markers of the documents.
    pub fn write(&self) {
        fs::write(JSON, serde_json::to_string_pretty(self).unwrap() + "\n").unwrap();
        if let Some(growths) = &self.linear {
            fs::write(PLOT, plot::draw(growths)).unwrap();
        }
        document::replace(PERFORMANCE, "scale", &self.markdown());
        document::replace(SCALING, "replicas", &self.replicas_markdown());
    }
}

fn growth_table(growths: &[linear::Growth]) -> String {
    let mut text = String::from(
        "Microseconds by share of the largest size, in-process; the last column is the most that a doubling cost.\n\n\
         | part | does | largest | 1/32 | 1/16 | 1/8 | 1/4 | 1/2 | 1 | ×2 |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for linear::Growth { part, does, points } in growths {
        let largest = points.last().map_or(0, |point| point.size);
        let times: Vec<_> = points.iter().map(|point| format!("{:.0}", point.microseconds)).collect();
        let most = points.windows(2).map(|pair| pair[1].microseconds / pair[0].microseconds).fold(0.0, f64::max);
        let _ = writeln!(text, "| {part} | {does} | {largest} | {} | {most:.2} |", times.join(" | "));
    }
    text
}
