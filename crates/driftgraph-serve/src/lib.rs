//! The local page: the whole tool in a browser, for one user on one machine.
//!
//! [`serve`] listens on the loopback address alone, and only answers requests that carry the random
//! token it prints: other programs, other users and other web pages get nothing. Everything it reads and
//! writes lies in one folder, one run folder per fit.

#![warn(clippy::unwrap_used)]

mod answer;
mod api;
mod check;
mod entry;
mod error;
mod guard;
mod keeping;
mod library;
mod live;
mod new_run;
mod page;
mod page_words;
mod upload;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

pub use error::ServeError;

use guard::Guard;
use library::Library;

/// Where the page is served, and from which folder.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The folder of the runs.
    pub folder: PathBuf,
    /// The port; a free one where 0.
    pub port: u16,
    /// Largest upload in bytes.
    pub max_upload: u64,
}

/// Serves until the process ends; `ready` is told the address once it works.
pub fn serve(options: &ServeOptions, ready: impl FnOnce(&str)) -> Result<(), ServeError> {
    let folder = options.folder.clone();
    std::fs::create_dir_all(&folder)
        .map_err(|source| ServeError::Folder { folder: folder.clone(), source })?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|source| ServeError::Runtime { source })?;
    runtime.block_on(async {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let cannot_listen = |source| ServeError::Port { port: options.port, source };
        let listener = tokio::net::TcpListener::bind(address).await.map_err(cannot_listen)?;
        let port = listener.local_addr().map_err(cannot_listen)?.port();
        let guard = Guard::new(port)?;
        let library = Arc::new(Library::open(folder));
        library.remove_unused_uploads(std::time::SystemTime::now());
        library.resume_cut_off();
        ready(&guard.address());
        let app = api::router(library, options.max_upload, Arc::new(guard));
        axum::serve(listener, app).await.map_err(|source| ServeError::Runtime { source })
    })
}
