//! Addresses and what they answer; `docs/api.md` is the same for people.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use driftgraph_data::graph_formats::{GraphFormat, graph_text};
use driftgraph_report::view::{FutureView, InterventionView, ReportView};
use driftgraph_report::{SCRIPTS, STYLES, report_html};
use driftgraph_view::{
    InterventionQuestion, agreement_view, exported_links, forecast_view, intervention_view,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};

use crate::answer::{Refusal, in_json};
use crate::check::understood;
use crate::entry::RunEntry;
use crate::guard::{self, Guard};
use crate::library::{Library, Shown};
use crate::live::ENDED;
use crate::new_run::{Columns, NewRun};
use crate::page;
use crate::upload::{Arriving, receive};

/// Largest request that is not an upload.
const MOST_JSON: usize = 1 << 20;
/// Most pairs of paths of an intervention.
const MOST_PATHS: usize = 5000;

/// What all answers need.
#[derive(Debug, Clone)]
struct App {
    library: Arc<Library>,
    max_upload: u64,
}

/// All addresses, behind the guard.
pub(crate) fn router(library: Arc<Library>, max_upload: u64, guard: Arc<Guard>) -> Router {
    let runs = Router::new()
        .route("/api/methods", get(methods))
        .route("/api/runs", get(list).post(begin))
        .route("/api/runs/{name}", get(entry).delete(delete))
        .route("/api/runs/{name}/rename", post(rename))
        .route("/api/runs/{name}/events", get(events))
        .route("/api/runs/{name}/stop", post(stop))
        .route("/api/runs/{name}/resume", post(go_on))
        .route("/api/runs/{name}/view", get(view))
        .route("/api/runs/{name}/intervene", post(intervene))
        .route("/api/runs/{name}/forecast", post(forecast))
        .route("/api/runs/{name}/files/{file}", get(file))
        .route("/api/uploads/{name}/check", post(check))
        .layer(DefaultBodyLimit::max(MOST_JSON));
    // The limit of an upload is watched while it is written.
    let uploads =
        Router::new().route("/api/uploads", post(upload)).layer(DefaultBodyLimit::disable());
    let pages = Router::new()
        .route("/", get(home))
        .route("/runs/{name}", get(run_page))
        .route("/compare", get(compare))
        .route("/assets/{file}", get(asset));
    Router::new()
        .merge(runs)
        .merge(uploads)
        .merge(pages)
        .fallback(async || Refusal::not_found())
        .with_state(App { library, max_upload })
        .layer(middleware::map_response(in_json))
        .layer(middleware::from_fn_with_state(guard, guard::check))
}

type Answer<T> = Result<T, Refusal>;

/// Runs what takes long away from the threads that answer.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Answer<T> + Send + 'static) -> Answer<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(Refusal::unusable(&error)))
}

async fn shown(app: &App, name: String) -> Answer<Arc<Shown>> {
    let library = Arc::clone(&app.library);
    aside(move || library.show(&name)).await
}

async fn list(State(app): State<App>) -> Json<Vec<RunEntry>> {
    Json(app.library.runs())
}

/// All methods with their descriptions, the default first.
async fn methods() -> Json<Vec<Value>> {
    let one = |method: &&dyn driftgraph_methods::Method| {
        let settings: Vec<&str> = method.settings().iter().map(|setting| setting.name).collect();
        json!({"name": method.name(), "description": method.description(), "settings": settings})
    };
    Json(driftgraph_methods::METHODS.iter().map(one).collect())
}

async fn entry(State(app): State<App>, Path(name): Path<String>) -> Answer<Json<RunEntry>> {
    app.library.entry(&name).map(Json)
}

async fn begin(
    State(app): State<App>,
    Json(new): Json<NewRun>,
) -> Answer<(StatusCode, Json<Value>)> {
    let name = new.name.clone();
    let (library, limit) = (Arc::clone(&app.library), app.max_upload);
    aside(move || library.begin(new, limit)).await?;
    Ok((StatusCode::CREATED, Json(json!({"name": name}))))
}

async fn stop(State(app): State<App>, Path(name): Path<String>) -> Answer<StatusCode> {
    app.library.stop(&name).map(|()| StatusCode::ACCEPTED)
}

async fn go_on(State(app): State<App>, Path(name): Path<String>) -> Answer<StatusCode> {
    app.library.go_on(&name).map(|()| StatusCode::ACCEPTED)
}

async fn delete(State(app): State<App>, Path(name): Path<String>) -> Answer<StatusCode> {
    aside(move || app.library.delete(&name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The new name of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rename {
    name: String,
}

async fn rename(
    State(app): State<App>,
    Path(name): Path<String>,
    Json(asked): Json<Rename>,
) -> Answer<StatusCode> {
    aside(move || app.library.rename(&name, asked.name.trim())).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// First everything so far, then every message as it comes.
async fn events(
    State(app): State<App>,
    Path(name): Path<String>,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    app.library.entry(&name)?;
    let (first, rest) = match app.library.live(&name) {
        Some(live) => {
            let rest = live.follow();
            (live.so_far(), Some(rest))
        }
        None => (ENDED.to_owned(), None),
    };
    let (sender, receiver) = mpsc::channel(16);
    tokio::spawn(pass_on(first, rest, sender));
    let messages = ReceiverStream::new(receiver).map(|text| Ok(Event::default().data(text)));
    Ok(Sse::new(messages).keep_alive(KeepAlive::default()))
}

/// Passes messages on until the fit is over or nobody listens.
async fn pass_on(
    first: String,
    rest: Option<broadcast::Receiver<String>>,
    sender: mpsc::Sender<String>,
) {
    if sender.send(first).await.is_err() {
        return;
    }
    let Some(mut rest) = rest else { return };
    loop {
        let text = match rest.recv().await {
            Ok(text) => text,
            // A page that was too slow misses some messages; the next ones say all that matters.
            Err(broadcast::error::RecvError::Lagged(_)) => continue,
            Err(broadcast::error::RecvError::Closed) => ENDED.to_owned(),
        };
        let ended = text == ENDED;
        if sender.send(text).await.is_err() || ended {
            return;
        }
    }
}

async fn view(State(app): State<App>, Path(name): Path<String>) -> Answer<Json<ReportView>> {
    Ok(Json(shown(&app, name).await?.view.clone()))
}

/// What is held or changed, and how long is simulated.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Intervene {
    changes: Vec<String>,
    horizon: Option<f64>,
    paths: Option<usize>,
    seed: Option<u64>,
}

async fn intervene(
    State(app): State<App>,
    Path(name): Path<String>,
    Json(asked): Json<Intervene>,
) -> Answer<Json<InterventionView>> {
    let shown = shown(&app, name).await?;
    aside(move || {
        let mut question = InterventionQuestion::new(asked.changes);
        question.horizon = asked.horizon;
        question.n_paths = asked.paths.unwrap_or(question.n_paths).clamp(2, MOST_PATHS);
        question.seed = asked.seed.unwrap_or(0);
        let data = shown.data.as_ref().map(|loaded| &loaded.data);
        let model = shown.run.model().map_err(|error| Refusal::unusable(&error))?;
        let view = intervention_view(model, &shown.run.record.data.time, data, &question);
        view.map(Json).map_err(|error| Refusal::unusable(&error))
    })
    .await
}

/// How long the future is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Forecast {
    horizon: f64,
}

async fn forecast(
    State(app): State<App>,
    Path(name): Path<String>,
    Json(asked): Json<Forecast>,
) -> Answer<Json<FutureView>> {
    let shown = shown(&app, name).await?;
    aside(move || {
        let data = shown.data.as_ref().map(|loaded| &loaded.data);
        let model = shown.run.model().map_err(|error| Refusal::unusable(&error))?;
        let view = forecast_view(model, data, asked.horizon);
        view.map(Json).map_err(|error| Refusal::unusable(&error))
    })
    .await
}

/// Files of a run, and reports and graphs made of it; nothing else in its folder can be had.
async fn file(
    State(app): State<App>,
    Path((name, file)): Path<(String, String)>,
) -> Answer<Response> {
    let kind = match file.as_str() {
        "edges.csv" => "text/csv",
        "run.json" | "log.jsonl" => "application/json",
        "model.safetensors" => "application/octet-stream",
        "graph.svg" | "edges.svg" => "image/svg+xml",
        "report.html" => "text/html; charset=utf-8",
        "graph.graphml" => "application/xml",
        _ => return Err(Refusal::not_found()),
    };
    let content: Vec<u8> = match file.as_str() {
        "report.html" => report_html(&shown(&app, name).await?.view).into_bytes(),
        "graph.graphml" => {
            let shown = shown(&app, name).await?;
            aside(move || {
                let edges = exported_links(&shown.run.edges());
                Ok(graph_text(shown.run.variables(), &edges, GraphFormat::GraphMl))
            })
            .await?
            .into_bytes()
        }
        _ => {
            let path = app.library.path(&name)?.join(&file);
            tokio::fs::read(path).await.map_err(|_| Refusal::not_found())?
        }
    };
    let disposition = format!("attachment; filename=\"{file}\"");
    let head =
        [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    Ok((head, content).into_response())
}

async fn upload(
    State(app): State<App>,
    Query(arriving): Query<Arriving>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Json<Value>> {
    let name = receive(&app.library, &arriving, &headers, body, app.max_upload).await?;
    Ok(Json(json!({"upload": name})))
}

async fn check(
    State(app): State<App>,
    Path(name): Path<String>,
    Json(columns): Json<Columns>,
) -> Answer<Json<Value>> {
    let tables = app.library.upload(&name)?;
    let options = columns.options(app.max_upload);
    aside(move || {
        let mut answer = understood(&tables, &options);
        answer["upload"] = json!(name);
        Ok(Json(answer))
    })
    .await
}

async fn home() -> Html<String> {
    Html(page::home())
}

async fn run_page(State(app): State<App>, Path(name): Path<String>) -> Answer<Html<String>> {
    let mut entry = app.library.entry(&name)?;
    let mut shown_run = None;
    if entry.has_result && app.library.live(&name).is_none() {
        match shown(&app, name).await {
            Ok(found) => shown_run = Some(found),
            // The page of a run whose report cannot be made says so, and all else still works.
            Err(refusal) => {
                let reason = format!("the report cannot be made: {}", refusal.reason());
                entry.problem.get_or_insert(reason);
            }
        }
    }
    Ok(Html(page::run(&entry, shown_run.as_ref().map(|shown| &shown.view))))
}

#[derive(Debug, Deserialize)]
struct Pair {
    a: String,
    b: String,
}

async fn compare(State(app): State<App>, Query(pair): Query<Pair>) -> Answer<Html<String>> {
    let (first, second) = (shown(&app, pair.a).await?, shown(&app, pair.b).await?);
    let runs = [&first, &second].map(|one| (one.view.name.clone(), &one.run));
    let agreement = agreement_view("Two runs side by side", &runs, None);
    let agreement = agreement.map_err(|error| Refusal::unusable(&error))?;
    Ok(Html(page::compare(&first.view, &second.view, &agreement)))
}

async fn asset(Path(file): Path<String>) -> Answer<Response> {
    let script = "text/javascript; charset=utf-8";
    let (kind, content) = match file.as_str() {
        "report.css" => ("text/css; charset=utf-8", STYLES),
        "page.css" => ("text/css; charset=utf-8", page::STYLES),
        "charts.js" => (script, SCRIPTS[0]),
        "graph.js" => (script, SCRIPTS[1]),
        "matrix.js" => (script, SCRIPTS[2]),
        "home.js" => (script, page::HOME_SCRIPT),
        "runs.js" => (script, page::RUNS_SCRIPT),
        "run.js" => (script, page::RUN_SCRIPT),
        _ => return Err(Refusal::not_found()),
    };
    Ok(([(header::CONTENT_TYPE, kind)], content).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_a_run_whose_report_cannot_be_made_says_why() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("odd")).unwrap();
        for file in ["run.json", "model.safetensors"] {
            std::fs::write(folder.path().join("odd").join(file), "{}").unwrap();
        }
        let library = Arc::new(Library::open(folder.path().to_owned()));
        let app = App { library, max_upload: 1 };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let page = runtime.block_on(run_page(State(app), Path("odd".to_owned())));
        let Html(page) = page.unwrap();
        assert!(page.contains("the report cannot be made: "), "{page}");
    }
}
