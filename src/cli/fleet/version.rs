//! Published revisions as the versions of `promptd diff`.

use std::path::Path;

use promptd_core::id::Id;

use super::{
    difference::unpacked,
    id,
    place::{Address, Connection, Files},
};
use crate::cli::{Failure, diff::version::Version, load::Offline, settings::ConfigFile};

/// Where every workspace is, as far as these prompts say: a published one has no path.
const HOME: &str = "/workspaces";

/// A revision as an argument names it: `ID@REVISION`, or `ID` for the newest.
struct Named<'t> {
    text: &'t str,
    id: Id,
    revision: Option<&'t str>,
}

/// Reads the config, and fetches both versions.
pub(in crate::cli) fn open(
    config: &ConfigFile,
    address: &Address,
    before: &str,
    after: &str,
) -> Result<(Offline, Version, Version), Failure> {
    let [before, after] = [Named::parse(before)?, Named::parse(after)?];
    let fetched = async |connection: &Connection| Ok((before.fetch(connection).await?, after.fetch(connection).await?));
    let (first, second) = address.run(config, fetched)?;
    let at = Path::new(HOME).join(after.id.as_str());
    let offline = Offline::open(config, &[format!("{}={}", after.id, at.display())])?;
    let [workspace] = offline.workspaces() else { return Err(Failure::run("a workspace is needed")) };
    let version = |named: &Named<'_>, files: &Files| {
        let (held, files) = unpacked(workspace, files)?;
        let files = files.at(files.path().to_owned(), named.text.to_owned());
        Ok::<_, Failure>(Version::held(workspace.clone(), files, held))
    };
    let (first, second) = (version(&before, &first)?, version(&after, &second)?);
    Ok((offline, first, second))
}

impl<'t> Named<'t> {
    fn parse(text: &'t str) -> Result<Self, Failure> {
        let (name, revision) = text.split_once('@').map_or((text, None), |(name, revision)| (name, Some(revision)));
        let id = id(name).map_err(|why| Failure::run(format!("`{text}` must be ID or ID@REVISION: {why}")))?;
        Ok(Self { text, id, revision })
    }

    async fn fetch(&self, connection: &Connection) -> Result<Files, Failure> {
        let past = connection.state(&self.id, self.revision).await?;
        connection.files(&self.id, &past).await
    }
}
