//! The files of the page, by the paths that they have at its address.

use std::{borrow::Cow, collections::HashMap, sync::LazyLock};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY},
};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::gzip;

/// The file that `/` answers with.
const INDEX: &str = "index.html";

#[derive(RustEmbed)]
#[folder = "assets/"]
struct Folder;

/// A file of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// What it holds.
    pub content: Bytes,
    /// The same, compressed with gzip.
    pub compressed: Bytes,
    /// Its media type, by the ending of its name.
    pub content_type: &'static str,
    /// A strong entity tag, in its quotes: of the hash of the content.
    pub etag: HeaderValue,
    /// That of the compressed content.
    pub compressed_etag: HeaderValue,
}

/// All files of the page, by path: `/` is the page itself, `/js/main.js` the file of that name.
pub fn assets() -> &'static HashMap<String, Asset> {
    static ASSETS: LazyLock<HashMap<String, Asset>> = LazyLock::new(|| {
        let named = |name: Cow<'static, str>| Folder::get(&name).map(|file| (path(&name), Asset::of(&name, file)));
        Folder::iter().filter_map(named).collect()
    });
    &ASSETS
}

fn path(name: &str) -> String {
    if name == INDEX { "/".to_owned() } else { format!("/{name}") }
}

impl Asset {
    /// The answer to a request for it: the file, compressed where the caller takes that, or that the caller has it already.
    pub fn answer(&self, request: &HeaderMap) -> Response<Bytes> {
        let compressed = gzip::accepted(request);
        let (content, etag) =
            if compressed { (&self.compressed, &self.compressed_etag) } else { (&self.content, &self.etag) };
        let mut response = Response::new(Bytes::new());
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        headers.insert(ETAG, etag.clone());
        if is_held(etag, request) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        if compressed {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response.map(|_| content.clone())
    }

    fn of(name: &str, file: EmbeddedFile) -> Self {
        let content = match file.data {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => bytes.into(),
        };
        let hash = u128::from_be_bytes(*file.metadata.sha256_hash().first_chunk().unwrap_or(&[0; 16]));
        #[expect(clippy::expect_used, reason = "letters and digits in quotes are a header's value")]
        let tag = |form: &str| HeaderValue::try_from(format!("\"{hash:032x}{form}\"")).expect("an entity tag");
        let compressed = gzip::compress(&content);
        Self { content, compressed, content_type: content_type(name), etag: tag(""), compressed_etag: tag("-gzip") }
    }
}

/// Whether the caller has what this is the tag of. A proxy may have made the tag a weak one.
fn is_held(etag: &HeaderValue, request: &HeaderMap) -> bool {
    let held = request.get_all(IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    let mut tags = held.flat_map(|tags| tags.split(',').map(str::trim));
    tags.any(|tag| tag == "*" || etag == tag.strip_prefix("W/").unwrap_or(tag))
}

/// Browsers run no script of another type, since they are told not to guess.
fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Read as _, path::Path};

    use flate2::read::GzDecoder;
    use http::header::ACCEPT_ENCODING;

    use super::*;

    /// The most bytes of all files together, as browsers get them.
    const MAX_BYTES: usize = 200_000;

    fn files(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                files(&entry.path(), found);
            } else {
                found.push(entry.path().to_str().unwrap().to_owned());
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_there_with_a_type_and_a_tag_of_its_own() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
        let mut found = Vec::new();
        files(&root, &mut found);
        assert_eq!(found.len(), assets().len(), "{found:?}");
        for file in found {
            let path = path(file.strip_prefix(root.to_str().unwrap()).unwrap().trim_start_matches('/'));
            let asset = &assets()[&path];
            assert_eq!(asset.content, fs::read(&file).unwrap(), "{path}");
            assert_ne!(asset.content_type, "application/octet-stream", "{path}");
            let of_this_tag = assets().values().filter(|other| other.etag == asset.etag);
            assert!(of_this_tag.map(|other| &other.content).all(|content| *content == asset.content), "{path}");
        }
    }

    #[test]
    fn a_file_that_the_caller_has_is_not_sent_again() {
        let asset = &assets()["/"];
        let etag = asset.etag.to_str().unwrap();
        for (held, status) in [
            (None, 200),
            (Some("\"other\"".to_owned()), 200),
            (Some(etag.trim_matches('"').to_owned()), 200),
            (Some(etag.to_owned()), 304),
            (Some(format!("\"other\", W/{etag}")), 304),
            (Some("*".to_owned()), 304),
        ] {
            let mut request = HeaderMap::new();
            if let Some(held) = &held {
                request.insert(IF_NONE_MATCH, held.parse().unwrap());
            }
            let answer = asset.answer(&request);
            assert_eq!(answer.status(), status, "{held:?}");
            assert_eq!(
                (&answer.headers()[ETAG], &answer.headers()[CACHE_CONTROL]),
                (&asset.etag, &HeaderValue::from_static("no-cache"))
            );
            assert_eq!(answer.body().is_empty(), status == 304, "{held:?}");
        }
    }

    #[test]
    fn a_file_is_sent_compressed_to_those_who_take_it_so() {
        for (path, asset) in assets() {
            let mut request = HeaderMap::new();
            request.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate, br"));
            let answer = asset.answer(&request);
            let headers = answer.headers();
            assert_eq!(
                (&headers[CONTENT_ENCODING], &headers[VARY]),
                (&HeaderValue::from_static("gzip"), &HeaderValue::from_static("accept-encoding")),
                "{path}"
            );
            assert_ne!(headers[ETAG], asset.etag, "{path}");
            let mut text = Vec::new();
            GzDecoder::new(&answer.body()[..]).read_to_end(&mut text).unwrap();
            assert_eq!(text, asset.content, "{path}");

            request.insert(IF_NONE_MATCH, asset.compressed_etag.clone());
            assert_eq!(asset.answer(&request).status(), 304, "{path}");
            let plain = asset.answer(&HeaderMap::new());
            assert_eq!((plain.body(), plain.headers().get(CONTENT_ENCODING)), (&asset.content, None), "{path}");
        }
    }

    #[test]
    fn all_files_together_are_small() {
        let bytes: usize = assets().values().map(|asset| asset.compressed.len()).sum();
        assert!(bytes < MAX_BYTES, "{bytes}");
    }

    /// A module that is left out is asked for only once those that import it are there, which the first view waits for.
    #[test]
    fn the_page_asks_for_every_module_at_once() {
        let page = String::from_utf8(assets()["/"].content.to_vec()).unwrap();
        let named = page.split('"').filter(|word| word.starts_with("/js/"));
        let mut modules: Vec<_> = assets().keys().filter(|path| path.starts_with("/js/")).map(String::as_str).collect();
        modules.sort_unstable_by_key(|path| (*path == "/js/main.js", *path));
        assert_eq!(named.collect::<Vec<_>>(), modules);
    }

    #[test]
    fn the_page_has_no_script_or_style_that_its_policy_forbids() {
        let page = String::from_utf8(assets()["/"].content.to_vec()).unwrap();
        for forbidden in ["<style", " style=", " onclick=", " onload=", "http://", "https://", "javascript:"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        let scripts = page.matches("<script").count();
        assert!(scripts > 0 && scripts == page.matches("<script type=\"module\" src=\"").count(), "{page}");
    }
}
