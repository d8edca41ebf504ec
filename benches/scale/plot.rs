//! Growth as a picture: both axes logarithmic, so that what grows in proportion is a straight line of slope one.

use std::fmt::Write as _;

use crate::linear::{Growth, Point};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
/// Room for the labels.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 270.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 50.0;
/// Distinguishable by those who see no red or green, too.
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00"];

/// The axes' ranges, as logarithms: of the share of the largest size to the base of 2, of microseconds to that of 10.
struct Axes {
    least_share: f64,
    low: f64,
    high: f64,
}

impl Axes {
    fn of(growths: &[Growth]) -> Self {
        let points = || growths.iter().flat_map(|growth| &growth.points);
        let logs = || points().map(|point| point.microseconds.log10());
        let shares = growths.iter().flat_map(|growth| growth.points.iter().map(|point| share(growth, point)));
        Self {
            least_share: shares.fold(0.0, f64::min).round(),
            low: logs().fold(f64::INFINITY, f64::min).floor(),
            high: logs().fold(f64::NEG_INFINITY, f64::max).ceil(),
        }
    }

    fn x(&self, share: f64) -> f64 {
        LEFT + (1.0 - share / self.least_share) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, log: f64) -> f64 {
        TOP + (self.high - log) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)
    }
}

/// A point's size as a share of its part's largest, as a logarithm to the base of 2.
fn share(growth: &Growth, point: &Point) -> f64 {
    let largest = growth.points.iter().map(|point| point.size).max().unwrap_or(1);
    (point.size as f64 / largest as f64).log2()
}

pub fn draw(growths: &[Growth]) -> String {
    let axes = Axes::of(growths);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Time by size of the largest parts</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    draw_grid(&mut svg, &axes);
    // Proportion itself, to hold the lines against: as steep as a line may be.
    let rise = -axes.least_share * 2.0_f64.log10();
    let (x, y, end_x, end_y) = (axes.x(axes.least_share), axes.y(axes.low), axes.x(0.0), axes.y(axes.low + rise));
    let _ =
        writeln!(svg, "<path d=\"M{x:.1} {y:.1}L{end_x:.1} {end_y:.1}\" stroke=\"#888888\" stroke-dasharray=\"4 4\"/>");
    let _ =
        writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#666666\">in proportion</text>", end_x + 8.0, end_y + 4.0);
    draw_lines(&mut svg, &axes, growths);
    svg + "</svg>\n"
}

fn draw_grid(svg: &mut String, axes: &Axes) {
    let (left, right, bottom) = (axes.x(axes.least_share), axes.x(0.0), axes.y(axes.low));
    let mut log = axes.low;
    while log <= axes.high {
        let (y, label) = (axes.y(log), duration(log));
        let _ = writeln!(svg, "<path d=\"M{left:.1} {y:.1}H{right:.1}\" stroke=\"#dddddd\"/>");
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", left - 8.0, y + 4.0);
        log += 1.0;
    }
    let mut share = axes.least_share;
    while share <= 0.0 {
        let (x, label) = (axes.x(share), if share < 0.0 { format!("1/{}", (-share).exp2()) } else { "1".into() });
        let _ = writeln!(svg, "<path d=\"M{x:.1} {TOP}V{bottom:.1}\" stroke=\"#eeeeee\"/>");
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>", bottom + 18.0);
        share += 1.0;
    }
    let middle = f64::midpoint(left, right);
    let _ = writeln!(
        svg,
        "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">of the largest size</text>",
        bottom + 38.0
    );
}

fn draw_lines(svg: &mut String, axes: &Axes, growths: &[Growth]) {
    let mut ends = label_places(axes, growths);
    for (growth, colour) in growths.iter().zip(COLOURS.iter().cycle()) {
        let at = |point: &Point| (axes.x(share(growth, point)), axes.y(point.microseconds.log10()));
        let points: Vec<_> =
            growth.points.iter().map(|point| format!("{:.1},{:.1}", at(point).0, at(point).1)).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        for (x, y) in growth.points.iter().map(at) {
            let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let y = ends.remove(0);
        let largest = growth.points.iter().map(|point| point.size).max().unwrap_or_default();
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{largest} {}</text>",
            axes.x(0.0) + 8.0,
            y + 4.0,
            growth.part
        );
    }
}

/// Where each line's label is: at its end, moved down where the one above is too near.
fn label_places(axes: &Axes, growths: &[Growth]) -> Vec<f64> {
    const APART: f64 = 15.0;
    let end = |growth: &Growth| growth.points.last().map_or(0.0, |point| axes.y(point.microseconds.log10()));
    let mut places: Vec<f64> = growths.iter().map(end).collect();
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| places[*a].total_cmp(&places[*b]));
    for pair in order.windows(2) {
        places[pair[1]] = places[pair[1]].max(places[pair[0]] + APART);
    }
    places
}

/// A power of ten of microseconds.
fn duration(log: f64) -> String {
    match log {
        log if log >= 6.0 => format!("{} s", 10_f64.powf(log - 6.0)),
        log if log >= 3.0 => format!("{} ms", 10_f64.powf(log - 3.0)),
        log => format!("{} µs", 10_f64.powf(log)),
    }
}
