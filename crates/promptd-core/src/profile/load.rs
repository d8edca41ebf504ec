//! The profiles that the service ships, embedded as they stand in `config/profiles/`.

macro_rules! shipped {
    ($($file:literal),+ $(,)?) => {
        /// File name and YAML of each.
        pub const FILES: &[(&str, &str)] = &[$(($file, include_str!(concat!("../../../../config/profiles/", $file)))),+];
    };
}

shipped!(
    "airi.yaml",
    "five-layer.yaml",
    "kai-heartbeat.yaml",
    "kai-local.yaml",
    "kai-remote.yaml",
    "kern.yaml",
    "lucidpal-briefing.yaml",
    "lucidpal.yaml",
);

#[cfg(test)]
mod tests {
    use crate::{finding::Finding, profile};

    #[test]
    fn every_one_of_them_is_without_a_finding() {
        let (profiles, findings) = profile::load(&[], None);
        assert_eq!(findings, Vec::<Finding>::new());
        assert_eq!(profiles.iter().len(), super::FILES.len());
        for (file, _) in super::FILES {
            let profile = profiles.get(file.trim_end_matches(".yaml")).unwrap();
            assert!(profile.built_in && !profile.description.is_empty(), "{file}");
        }
    }
}
