//! Answers that are not what was asked for: a status and one sentence.

use axum::Json;
use axum::body::to_bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request is not answered.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    reason: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }

    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is nothing here")
    }

    /// A request that cannot be fulfilled as it is.
    pub(crate) fn unusable(error: &dyn std::error::Error) -> Self {
        let mut reason = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            reason = format!("{reason}: {next}");
            cause = next.source();
        }
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, reason)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(json!({"error": self.reason}))).into_response()
    }
}

/// Longest plain text of a refusal.
const MOST_TEXT: usize = 1 << 14;

/// Turns the plain refusals of the framework (a missing field, bad JSON) into those of the interface.
pub(crate) async fn in_json(response: Response) -> Response {
    let content = response.headers().get(header::CONTENT_TYPE);
    let is_plain = content.is_some_and(|content| content.as_bytes().starts_with(b"text/plain"));
    if !(response.status().is_client_error() && is_plain) {
        return response;
    }
    let status = response.status();
    let text = to_bytes(response.into_body(), MOST_TEXT).await.unwrap_or_default();
    Refusal::new(status, String::from_utf8_lossy(&text)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_refusals_become_json_and_answers_stay_as_they_are() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let told = |response: Response| {
            let response = runtime.block_on(in_json(response));
            let status = response.status();
            let text = runtime.block_on(to_bytes(response.into_body(), MOST_TEXT)).unwrap();
            (status, String::from_utf8(text.to_vec()).unwrap())
        };
        let refused = (StatusCode::BAD_REQUEST, "missing field `name`").into_response();
        let expected = "{\"error\":\"missing field `name`\"}".to_owned();
        assert_eq!(told(refused), (StatusCode::BAD_REQUEST, expected));
        assert_eq!(told("fine".into_response()), (StatusCode::OK, "fine".to_owned()));
    }
}
