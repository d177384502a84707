//! The kinds of HTTP load that are weighed.

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    KeepAlive,
    NewConnection,
    Tls,
    TlsNewConnection,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::KeepAlive, Self::NewConnection, Self::Tls, Self::TlsNewConnection];

    /// In the profile.
    pub const fn key(self) -> &'static str {
        match self {
            Self::KeepAlive => "http.keep_alive",
            Self::NewConnection => "http.new_connection",
            Self::Tls => "http.tls",
            Self::TlsNewConnection => "http.tls_new_connection",
        }
    }

    /// For people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::KeepAlive => "keep-alive",
            Self::NewConnection => "new connection",
            Self::Tls => "TLS, keep-alive",
            Self::TlsNewConnection => "TLS, new connection",
        }
    }

    /// What `--only` calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KeepAlive => "keep-alive",
            Self::NewConnection => "new-connection",
            Self::Tls => "tls",
            Self::TlsNewConnection => "tls-new-connection",
        }
    }

    pub const fn is_tls(self) -> bool {
        matches!(self, Self::Tls | Self::TlsNewConnection)
    }

    pub const fn keeps_alive(self) -> bool {
        matches!(self, Self::KeepAlive | Self::Tls)
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text.trim());
        found.ok_or_else(|| format!("is not a kind of load; expected {names}"))
    }
}
