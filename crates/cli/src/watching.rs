//! Who looks at the run while it goes on: the live page and the terminal's view.
//!
//! Where nobody looks nothing is made ready. What is shown is the run *so far*: what is under way has no outcome yet, and
//! criteria that only a finished run can meet are not judged.

use crate::status::{Failure, complain};
use clap::Args;
use live::{Address, Page, Token, Update};
use plan::Plan;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use units::Picos;

/// How a run is shown while it goes on.
#[derive(Args, Clone, Debug, Default)]
pub struct LiveArgs {
    /// Show the run on a web page while it goes on [default: 127.0.0.1:8273, or a free port]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub live: Option<String>,
    /// What a viewer must know, or @FILE; needed where others can reach the address
    #[arg(long, value_name = "TOKEN | @FILE", requires = "live")]
    pub live_token: Option<String>,
    /// How long the page stays after the run [default: until those who watch have the report]
    #[arg(long, value_name = "TIME", requires = "live")]
    pub live_linger: Option<String>,
    /// A line instead of the view that fills the terminal
    #[arg(long)]
    pub no_view: bool,
}

/// See the module.
pub struct Watching {
    page: Option<Page>,
    linger: Picos,
}

impl Watching {
    /// Begins to serve. Nothing was sent yet: what is wrong is refused.
    pub fn start(args: &LiveArgs, plan: &Plan, is_quiet: bool) -> Result<Self, Failure> {
        let linger = args.live_linger.as_deref().map_or(Ok(Picos::ZERO), Picos::from_str);
        let linger = linger.map_err(|error| Failure::wrong(anyhow::anyhow!("--live-linger: {error}")))?;
        let token = args.live_token.as_deref().map(Token::read).transpose().map_err(Failure::wrong)?;
        let page = args.live.as_deref().map(|typed| {
            let address: Address = typed.parse()?;
            Page::start(address, token, &plan.engine.cpus)
        });
        let page = page.transpose().map_err(Failure::wrong)?;
        if let Some(page) = page.as_ref().filter(|_| !is_quiet) {
            complain(&format!("live: {}", page.url()));
        }
        Ok(Self { page, linger })
    }

    /// Shows the run so far if anybody looks; `is_new`: an interval has ended since this was called last.
    pub fn look(&self, is_new: bool, so_far: impl FnOnce() -> Update) {
        if let Some(page) = self.page.as_ref().filter(|page| page.wants(is_new)) {
            page.show(so_far());
        }
    }

    /// The run is over; `report` is what it came to.
    pub fn end(&mut self, report: &str) {
        if let Some(page) = &mut self.page {
            page.end(report.to_owned());
        }
    }

    /// Waits until those who watch have the report, and as long as was asked for; `stop` ends the waiting.
    pub fn leave(self, stop: &AtomicBool) {
        if let Some(page) = self.page {
            page.leave(self.linger, stop);
        }
    }
}
