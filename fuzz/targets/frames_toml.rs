//! `[frames]` is frames or a named error, whatever is typed; its canonical text is the same frames, and each
//! frame that they make is whole.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plan::packets::frames::{FrameSource, Frames, FramesFile};
use wire::{Template, Times, summary};

fn read(text: &str) -> Option<Frames> {
    #[derive(serde::Deserialize)]
    struct File {
        frames: FramesFile,
    }
    let file: File = toml::from_str(text).ok()?;
    match file.frames.resolve() {
        Ok(frames) => Some(frames),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

fuzz_target!(|text: &str| {
    let Some(frames) = read(text) else { return };
    let canonical = frames.to_toml();
    let again = read(canonical).unwrap_or_else(|| panic!("the canonical text is refused:\n{canonical}"));
    assert_eq!(again, frames, "{canonical}");
    let FrameSource::Made { spec, .. } = frames.source() else { return };
    let template = Template::build(spec).expect("what was resolved can be built");
    let mut room = vec![0; template.longest()];
    for n in [0, 1, 1 << 39] {
        let length = template.write(n, Times::default(), &mut room, &mut 0);
        assert_eq!(length, template.length(n));
        assert!(summary(&room[..length]).is_some());
    }
});
