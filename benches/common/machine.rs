//! What it was measured on.

/// Processor, cores and kernel, as a sentence.
pub fn describe() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel = kernel.split('-').next().unwrap_or_default().trim();
    format!(
        "{}, {cores} cores, Linux {kernel}; client and servers on the same machine.",
        model.trim_start_matches(['\t', ' ', ':'])
    )
}
