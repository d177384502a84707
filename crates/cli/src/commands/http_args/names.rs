//! The flags that say how names become addresses.

use super::{list, typed};
use crate::commands::output_args::quantity;
use clap::{ArgAction, Args};
use plan::PlanFile;

/// How names become addresses.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Names")]
pub struct NameArgs {
    /// Use these addresses for HOST:PORT instead of a DNS look-up (repeatable)
    #[arg(long, value_name = "HOST:PORT:ADDRESS,…", action = ArgAction::Append)]
    pub resolve: Vec<String>,
    /// Resolve names again at this interval [default: only once]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = quantity)]
    pub resolve_every: Option<String>,
    /// Use IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6', long)]
    pub ipv6: bool,
}

impl NameArgs {
    pub(super) fn fill(&self, file: &mut PlanFile) {
        file.resolve.fixed = list(&self.resolve);
        file.resolve.every = typed(&self.resolve_every);
        file.resolve.family = match (self.ipv4, self.ipv6) {
            (true, _) => Some("ipv4".to_owned()),
            (_, true) => Some("ipv6".to_owned()),
            _ => None,
        };
    }
}
