//! Who may ask: this machine, this page, with the token.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

use crate::answer::Refusal;
use crate::error::ServeError;

/// The name of the cookie; the port keeps two servers apart, since cookies do not.
const COOKIE: &str = "driftgraph";
/// Nothing but our own files; inline styles carry widths that depend on the data.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What a request must carry.
#[derive(Debug)]
pub(crate) struct Guard {
    port: u16,
    token: String,
}

impl Guard {
    /// A guard with a fresh token of 128 bits.
    pub(crate) fn new(port: u16) -> Result<Self, ServeError> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| ServeError::NoRandomness { reason: error.to_string() })?;
        Ok(Self { port, token: format!("{:032x}", u128::from_be_bytes(bytes)) })
    }

    /// The address to open.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token)
    }

    fn hosts(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port))
    }

    /// A page of another name could be an attacker's that points here (DNS rebinding).
    fn is_own_host(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        host.is_some_and(|host| self.hosts().iter().any(|own| own == host))
    }

    /// Requests that another page makes carry its address.
    fn is_own_origin(&self, headers: &HeaderMap) -> bool {
        let Some(origin) = headers.get(header::ORIGIN) else { return true };
        let own = self.hosts().map(|host| format!("http://{host}"));
        origin.to_str().is_ok_and(|origin| own.iter().any(|own| own == origin))
    }

    fn has_token(&self, headers: &HeaderMap, query: Option<&str>) -> bool {
        let named = |text: &str| {
            text.split_once('=').is_some_and(|(name, value)| {
                (name == "token" || name == self.cookie_name()) && same(value, &self.token)
            })
        };
        let in_query = query.is_some_and(|query| query.split('&').any(named));
        let bearer = |value: &HeaderValue| {
            let text = value.to_str().ok().and_then(|text| text.strip_prefix("Bearer "));
            text.is_some_and(|text| same(text, &self.token))
        };
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        in_query
            || headers.get(header::AUTHORIZATION).is_some_and(bearer)
            || cookies.flat_map(|all| all.split(';')).any(|cookie| named(cookie.trim()))
    }

    fn cookie_name(&self) -> String {
        format!("{COOKIE}-{}", self.port)
    }
}

/// Compares in a time that does not tell how much was right.
fn same(given: &str, wanted: &str) -> bool {
    let different = given.bytes().zip(wanted.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == wanted.len() && different == 0
}

/// Lets requests pass that may; all answers forbid the browser to fetch anything else.
pub(crate) async fn check(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    let (headers, query) = (request.headers(), request.uri().query());
    let allowed = guard.is_own_host(headers)
        && guard.is_own_origin(headers)
        && guard.has_token(headers, query);
    let arrives =
        query.is_some_and(|query| query.starts_with("token=")) && request.uri().path() == "/";
    let mut response = if !allowed {
        Refusal::new(
            StatusCode::FORBIDDEN,
            "this address needs the token that driftgraph has printed",
        )
        .into_response()
    } else if arrives {
        // The token leaves the address bar, where it could be copied by accident.
        let cookie =
            format!("{}={}; HttpOnly; SameSite=Strict; Path=/", guard.cookie_name(), guard.token);
        (StatusCode::SEE_OTHER, [(header::LOCATION, "/".to_owned()), (header::SET_COOKIE, cookie)])
            .into_response()
    } else {
        next.run(request).await
    };
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_this_machine_and_this_page_with_the_token_may_ask() {
        let guard = Guard { port: 4321, token: "0a1b".to_owned() };
        assert!(guard.is_own_host(&headers(&[(header::HOST, "127.0.0.1:4321")])));
        for host in ["127.0.0.1", "127.0.0.1:4322", "evil.example:4321", ""] {
            assert!(!guard.is_own_host(&headers(&[(header::HOST, host)])), "{host}");
        }
        assert!(guard.is_own_origin(&headers(&[])));
        assert!(guard.is_own_origin(&headers(&[(header::ORIGIN, "http://localhost:4321")])));
        for origin in ["null", "http://evil.example", "https://127.0.0.1:4321"] {
            assert!(!guard.is_own_origin(&headers(&[(header::ORIGIN, origin)])), "{origin}");
        }
        assert!(guard.has_token(&headers(&[]), Some("a=1&token=0a1b")));
        assert!(guard.has_token(&headers(&[(header::COOKIE, "x=1; driftgraph-4321=0a1b")]), None));
        assert!(guard.has_token(&headers(&[(header::AUTHORIZATION, "Bearer 0a1b")]), None));
        for (cookie, query) in
            [("", "token=0a1"), ("driftgraph-4321=0a1c", ""), ("driftgraph-1=0a1b", "")]
        {
            assert!(!guard.has_token(&headers(&[(header::COOKIE, cookie)]), Some(query)));
        }
    }
}
