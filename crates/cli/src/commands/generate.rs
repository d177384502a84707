//! `tare man` and `tare completions`: made from the same flags as everything else, so that they cannot be
//! wrong.

use anyhow::{Context, Result, anyhow};
use clap::{Args, Command, ValueEnum, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man;
use run::Failure;
use run::terminal::print_all;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Print a manual page, or write all of them
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tare man | man -l -                       read about tare
  tare man http | man -l -                  read about tare http
  tare man --out /usr/local/share/man/man1  install every page")]
pub struct ManArgs {
    /// The subcommand that the page is about [default: tare itself]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    page: Option<String>,
    /// Write one page for each subcommand into this folder
    #[arg(short = 'o', long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
}

/// Print completions for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tare completions bash > /etc/bash_completion.d/tare
  tare completions zsh > ~/.zfunc/_tare
  tare completions fish > ~/.config/fish/completions/tare.fish")]
pub struct CompletionsArgs {
    /// Name of the shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: ShellName,
}

/// The shells, by the names that people use.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ShellName {
    Bash,
    Zsh,
    Fish,
    Elvish,
    #[value(name = "powershell")]
    PowerShell,
}

impl From<ShellName> for Shell {
    fn from(name: ShellName) -> Self {
        match name {
            ShellName::Bash => Self::Bash,
            ShellName::Zsh => Self::Zsh,
            ShellName::Fish => Self::Fish,
            ShellName::Elvish => Self::Elvish,
            ShellName::PowerShell => Self::PowerShell,
        }
    }
}

/// Prints the page asked for, or writes all of them.
pub fn man(args: &ManArgs, tare: Command) -> Result<ExitCode, Failure> {
    let pages = pages(tare);
    if let Some(folder) = &args.out {
        write_all(&pages, folder)?;
        print_all(&format!("{} pages in {}\n", pages.len(), folder.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = args.page.as_ref().map_or_else(|| "tare".to_owned(), |name| format!("tare-{name}"));
    let Some(page) = pages.iter().find(|page| page.get_name() == wanted) else {
        let names = pages.iter().filter_map(|page| page.get_name().strip_prefix("tare-"));
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(Failure::wrong(anyhow!(
            "no manual page about '{}'; expected one of {names}",
            &wanted[5..]
        )));
    };
    print_all(&rendered(page)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the completions.
pub fn completions(args: &CompletionsArgs, mut tare: Command) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(Shell::from(args.shell), &mut tare, "tare", &mut text);
    print_all(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// The command itself and its subcommands, named as their pages are.
fn pages(tare: Command) -> Vec<Command> {
    let mut tare = tare.disable_help_subcommand(true);
    tare.build();
    let subcommands = tare.get_subcommands().filter(|command| !command.is_hide_set());
    let mut pages: Vec<Command> = subcommands
        .map(|command| {
            let name = format!("tare-{}", command.get_name());
            let called = format!("tare {}", command.get_name());
            command.clone().name(name.clone()).display_name(name).bin_name(called)
        })
        .collect();
    pages.insert(0, tare);
    pages
}

fn rendered(page: &Command) -> Result<String> {
    let mut text = Vec::new();
    let title = page.get_name().to_uppercase();
    Man::new(page.clone()).title(title).render(&mut text).context("cannot make a manual page")?;
    let text = String::from_utf8(text).context("a manual page is text")?;
    Ok(unfilled(&text))
}

/// What stands below the options, examples above all, keeps its lines (roff: no fill).
fn unfilled(page: &str) -> String {
    let Some((before, after)) = page.split_once(".SH EXTRA\n") else { return page.to_owned() };
    let (extra, rest) = after.find("\n.SH ").map_or((after, ""), |end| after.split_at(end + 1));
    format!("{before}.SH NOTES\n.nf\n{extra}.fi\n{rest}")
}

fn write_all(pages: &[Command], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("--out {}", folder.display()))?;
    for page in pages {
        let path = folder.join(format!("{}.1", page.get_name()));
        fs::write(&path, rendered(page)?).with_context(|| format!("--out {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_subcommand_has_a_page_that_man_can_read() {
        let pages = pages(crate::Tare::command());
        let names: Vec<&str> = pages.iter().map(Command::get_name).collect();
        for name in ["tare", "tare-http", "tare-http_load", "tare-run", "tare-target", "tare-man"] {
            assert!(names.contains(&name), "{names:?}");
        }
        for page in &pages {
            let text = rendered(page).unwrap();
            let title = page.get_name().to_uppercase();
            assert!(text.contains(&format!(".TH {title} 1")) && text.contains(".SH NAME\n"), "{text}");
        }
    }

    #[test]
    fn every_shell_has_completions_that_know_the_flags() {
        for shell in ShellName::value_variants() {
            let mut text = Vec::new();
            clap_complete::generate(Shell::from(*shell), &mut crate::Tare::command(), "tare", &mut text);
            assert!(String::from_utf8(text).unwrap().contains("ramp-connections"), "{shell:?}");
        }
    }

    #[test]
    fn examples_keep_their_lines() {
        let page = ".SH NAME\na\n.SH EXTRA\none\ntwo\n.SH VERSION\n1\n";
        assert_eq!(unfilled(page), ".SH NAME\na\n.SH NOTES\n.nf\none\ntwo\n.fi\n.SH VERSION\n1\n");
        assert_eq!(unfilled(".SH NAME\na\n"), ".SH NAME\na\n");
    }
}
