//! Hot reload: never stale, never mixed, never half.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod child;
mod denied;
mod descriptors;
mod external;
mod faults;
mod files;
mod injected;
mod last_good;
mod layers;
mod nested;
mod places;
mod resident;
mod saves;
mod service;
mod site;
mod soak;
mod torn;

use service::Service;
use site::{SHAPES, Shape, Site};

/// Every way to save, on every shape of workspace, is served by events alone, and so is the save after it.
#[test]
fn every_way_to_save_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let (root, aside) = (folder.path().join("root"), folder.path().join("aside"));
    std::fs::create_dir_all(&root).unwrap();
    let mut sites: Vec<_> =
        SHAPES.iter().enumerate().map(|(i, s)| Site::new(&root, &aside, &format!("s{i}"), *s)).collect();
    let service = Service::of_root(&root);
    for round in 1..=2 {
        for save in saves::SAVES {
            for site in sites.iter_mut().filter(|site| save.on.contains(&site.shape)) {
                (save.act)(site);
                let what = format!("{} ({:?}, round {round})", save.name, site.shape);
                service.wait(site.id.as_str(), &what, |state| site.is_served(state));
            }
        }
    }
    let status = service.source.status();
    assert_eq!((status.sweep_hits.get(), status.rescans.get()), (0, 0));
}

/// A save that changes no byte makes no revision; reading makes none either, and causes no load.
#[test]
fn what_changes_nothing_makes_no_revision() {
    let folder = tempfile::tempdir().unwrap();
    let (root, aside) = (folder.path().join("root"), folder.path().join("aside"));
    std::fs::create_dir_all(&root).unwrap();
    let mut site = Site::new(&root, &aside, "still", Shape::Plain);
    let service = Service::of_root(&root);
    let id = site.id.clone();
    // A real save first, so that nothing is left to do from the start.
    let text = site.next_text("SOUL.md");
    std::fs::write(site.path.join("SOUL.md"), text).unwrap();
    service.wait(id.as_str(), "the first save", |state| site.is_served(state));
    let published = service.source.status().published.get();
    let loads = service.source.status().loads.get();
    for _ in 0..50 {
        for file in site.files.keys() {
            std::fs::read(site.path.join(file)).unwrap();
        }
    }
    for save in saves::SAVES.iter().filter(|save| ["chmod", "touch", "an editor's own files"].contains(&save.name)) {
        (save.act)(&mut site);
    }
    // Once the last save is served, all before it has been seen.
    let text = site.next_text("SOUL.md");
    std::fs::write(site.path.join("SOUL.md"), text).unwrap();
    service.wait(id.as_str(), "the save after", |state| site.is_served(state));
    assert_eq!(service.source.status().published.get(), published + 1);
    assert!(service.source.status().loads.get() <= loads + 4, "reads caused loads");
}

/// The soak, shortened.
#[test]
fn three_hundred_random_saves() {
    let folder = tempfile::tempdir().unwrap();
    let plan = soak::Plan { saves: 300, workspaces: 12, seed: 7, fail_one_in: None, resident: None };
    let report = soak::run(folder.path(), &plan, &|| {});
    assert_eq!(report.saves, 300);
    assert!(report.reads > 300 && report.published > 200);
    assert_eq!(report.faults(), Vec::<String>::new());
}

/// The same while calls of the file system fail.
#[test]
fn three_hundred_random_saves_while_calls_fail() {
    let folder = tempfile::tempdir().unwrap();
    let plan = soak::Plan { saves: 300, workspaces: 12, seed: 11, fail_one_in: Some(500), resident: None };
    let report = soak::run(folder.path(), &plan, &|| {});
    assert!(report.saves == 300 && report.failed_calls > 20, "{}", report.failed_calls);
    assert_eq!(report.faults(), Vec::<String>::new());
}

/// The same with room for about one workspace of twelve.
#[test]
fn three_hundred_random_saves_of_what_is_mostly_not_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let plan = soak::Plan { saves: 300, workspaces: 12, seed: 13, fail_one_in: None, resident: Some(4 << 10) };
    let report = soak::run(folder.path(), &plan, &|| {});
    assert!(report.saves == 300 && report.evictions > 300, "{} evictions", report.evictions);
    assert_eq!(report.faults(), Vec::<String>::new());
}
