//! Tables that the user drops on the page: written to disk as they come, never whole in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use driftgraph_data::formats::{format_of, readable};
use serde::Deserialize;
use tokio::io::AsyncWriteExt;
use tokio_stream::StreamExt;

use crate::answer::Refusal;
use crate::library::{Library, is_safe};

/// Folder beside uploaded tables for the edges that are known of them.
const KNOWN_EDGES: &str = "known-edges";

/// A file on its way: what it is called, and what it belongs to.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arriving {
    name: String,
    /// The upload that it is added to; a new one where not given.
    to: Option<String>,
    /// Whether it lists known edges.
    #[serde(default)]
    truth: bool,
}

/// Takes a file; answers with the name of the upload it belongs to.
pub(crate) async fn receive(
    library: &Arc<Library>,
    arriving: &Arriving,
    headers: &HeaderMap,
    body: Body,
    limit: u64,
) -> Result<String, Refusal> {
    let name = plain_name(&arriving.name);
    if !is_safe(&name) || format_of(Path::new(&name)).is_none() {
        let reason = format!("`{name}` is not a table that can be read: {}", readable());
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
    }
    let too_large = || {
        let reason =
            format!("the file is larger than {} MB; use `driftgraph fit` for it", limit >> 20);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, reason)
    };
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|text| text.to_str().ok()?.parse().ok());
    // Refused before a byte is read, where the browser says how many there are.
    if announced.is_some_and(|length: u64| length > limit) {
        return Err(too_large());
    }
    let (folder, upload) = match &arriving.to {
        Some(upload) => (library.upload(upload)?, upload.clone()),
        None => free_name(&library.uploads(), name.split('.').next().unwrap_or(&name)),
    };
    let place = if arriving.truth { folder.join(KNOWN_EDGES) } else { folder.clone() };
    if arriving.truth {
        // The latest list counts.
        let _ = tokio::fs::remove_dir_all(&place).await;
    }
    match keep(&place, &name, body, limit).await {
        Ok(true) => Ok(upload),
        result => {
            // Only where nothing else is in it.
            let _ = tokio::fs::remove_dir(&folder).await;
            Err(result.err().map_or_else(too_large, |error| Refusal::unusable(&error)))
        }
    }
}

/// Writes a file under a free name; false, and no file, where it is too large.
async fn keep(place: &Path, name: &str, body: Body, limit: u64) -> std::io::Result<bool> {
    tokio::fs::create_dir_all(place).await?;
    let (file, _) = free_name(place, name);
    let result = write(&file, body, limit).await;
    if !matches!(result, Ok(true)) {
        let _ = tokio::fs::remove_file(&file).await;
    }
    result
}

/// The list of known edges that belongs to uploaded tables.
pub(crate) fn known_edges(tables: &Path) -> Option<PathBuf> {
    let entry = tables.join(KNOWN_EDGES).read_dir().ok()?.next()?.ok()?;
    Some(entry.path())
}

/// Writes the body; false where it is too large.
async fn write(file: &Path, body: Body, limit: u64) -> std::io::Result<bool> {
    let mut out = tokio::fs::File::create(file).await?;
    let mut stream = body.into_data_stream();
    let mut length = 0;
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(std::io::Error::other)?;
        length += chunk.len() as u64;
        if length > limit {
            return Ok(false);
        }
        out.write_all(&chunk).await?;
    }
    out.flush().await?;
    Ok(true)
}

/// The last part of a name, with other characters replaced.
fn plain_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = |c: char| {
        if c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ') { c } else { '_' }
    };
    let name: String = last.chars().map(plain).collect();
    name.trim_start_matches(['.', ' ']).to_owned()
}

/// The name, or with the first number that is free.
fn free_name(folder: &Path, name: &str) -> (PathBuf, String) {
    let (stem, ending) = name.find('.').map_or((name, ""), |dot| name.split_at(dot));
    let mut names = std::iter::once(name.to_owned())
        .chain((2..).map(|number: u32| format!("{stem}-{number}{ending}")));
    let name = names.find(|name| !folder.join(name).exists()).expect("there are always free names");
    (folder.join(&name), name)
}

#[cfg(test)]
mod tests {
    use super::plain_name;

    #[test]
    fn names_of_uploads_cannot_leave_their_folder() {
        assert_eq!(plain_name("../../etc/passwd.csv"), "passwd.csv");
        assert_eq!(plain_name("C:\\data\\my genes.csv"), "my genes.csv");
        assert_eq!(plain_name("..csv"), "csv");
        assert_eq!(plain_name("a<b>.csv"), "a_b_.csv");
    }
}
