//! Answers that are not what was asked for: a status and one sentence.

use axum::Json;
use axum::http::StatusCode;
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
