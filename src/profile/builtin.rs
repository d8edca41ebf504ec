//! The profiles that the service ships, embedded as they stand in `config/profiles/`.

/// File name and YAML of each.
pub const FILES: &[(&str, &str)] = &[
    ("airi.yaml", include_str!("../../config/profiles/airi.yaml")),
    ("five-layer.yaml", include_str!("../../config/profiles/five-layer.yaml")),
    ("kern.yaml", include_str!("../../config/profiles/kern.yaml")),
];
