//! The flags that say how a run is shown while it goes on.

use clap::Args;
use live::Address;
use run::Live;

/// How a run is shown while it goes on.
#[derive(Args, Clone, Debug, Default)]
pub struct LiveArgs {
    /// Show the run on a web page while it runs [default: 127.0.0.1:8273, or a free port]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub live: Option<String>,
    /// Token that viewers must give, or @FILE; required unless the address is a loopback address
    #[arg(long, value_name = "TOKEN | @FILE", requires = "live")]
    pub live_token: Option<String>,
    /// How long to serve the page after the run [default: until every viewer has the report, at most 5s]
    #[arg(long, value_name = "TIME", requires = "live")]
    pub live_linger: Option<String>,
    /// Show a progress line instead of the full-screen view
    #[arg(long)]
    pub no_view: bool,
}

impl From<&LiveArgs> for Live {
    fn from(args: &LiveArgs) -> Self {
        Self {
            address: args.live.clone(),
            token: args.live_token.clone(),
            linger: args.live_linger.clone(),
            no_view: args.no_view,
        }
    }
}

/// The address after a `--live` that has none of its own, if there is one: `--live :9000` means `--live=:9000`.
pub fn parted_address(words: &[String]) -> Option<&str> {
    let after = words.iter().skip_while(|word| *word != "--live").nth(1)?;
    after.parse::<Address>().is_ok().then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_was_parted_from_its_flag_is_found() {
        let found = |words: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            parted_address(&words).map(str::to_owned)
        };
        assert_eq!(found("tare http --live :9000 http://h/").as_deref(), Some(":9000"));
        assert_eq!(found("tare http --live 127.0.0.1:1 http://h/").as_deref(), Some("127.0.0.1:1"));
        for other in ["tare http --live http://h/", "tare http --live=:9000 80 http://h/", "tare http --live"]
        {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
