//! What a test or a bench does to a display beside the product: a wallpaper, changes, windows put
//! in their places, and the plainest possible capture to compare with.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    AtomEnum, ChangeGCAux, ChangeWindowAttributesAux, ConfigureWindowAux, ConnectionExt as _,
    CreateGCAux, Gcontext, ImageFormat, Rectangle, SubwindowMode, Window,
};
use x11rb::wrapper::ConnectionExt as _;

use crate::xvfb::{Client, connect};

/// Options of an xterm whose words are large enough to be read off its pixels.
pub const LEGIBLE_XTERM: [&str; 6] = [
    "-geometry",
    "60x20+100+80",
    "-fa",
    "DejaVu Sans Mono",
    "-fs",
    "12",
];

/// A client of one display.
#[derive(Debug)]
pub struct Scene {
    client: Client,
    root: Window,
    size: (u16, u16),
    brush: Gcontext,
    colour: u32,
}

/// Whatever goes wrong between a test and its server ends the test.
fn must<T, E: std::fmt::Display>(outcome: Result<T, E>) -> T {
    outcome.unwrap_or_else(|error| panic!("the display refuses: {error}"))
}

impl Scene {
    /// On the display that `environment` names.
    ///
    /// # Panics
    /// When it cannot be reached.
    pub fn open(environment: &[(String, String)]) -> Self {
        let (client, screen, _socket) = connect(environment);
        let screen = &client.setup().roots[screen];
        let (root, size) = (
            screen.root,
            (screen.width_in_pixels, screen.height_in_pixels),
        );
        let brush = must(client.generate_id());
        let over_all = CreateGCAux::new().subwindow_mode(SubwindowMode::INCLUDE_INFERIORS);
        must(client.create_gc(brush, root, &over_all));
        Self {
            client,
            root,
            size,
            brush,
            colour: 0,
        }
    }

    /// Paints a corner of the screen in a colour it did not have, over whatever is there.
    ///
    /// # Panics
    /// When the display is gone.
    pub fn touch(&mut self) {
        self.colour = self.colour.wrapping_add(0x0001_0305);
        let colour = ChangeGCAux::new().foreground(self.colour);
        must(self.client.change_gc(self.brush, &colour));
        let corner = Rectangle {
            x: 0,
            y: 0,
            width: 4,
            height: 4,
        };
        must(
            self.client
                .poly_fill_rectangle(self.root, self.brush, &[corner]),
        );
        must(self.client.sync());
    }

    /// Gives the screen something like a photograph as its background: soft colours with the
    /// noise of a camera.
    ///
    /// # Panics
    /// When the display is gone.
    pub fn hang_photograph(&self) {
        let (width, height) = self.size;
        let pixmap = must(self.client.generate_id());
        must(
            self.client
                .create_pixmap(24, pixmap, self.root, width, height),
        );
        // In parts, so that no request is longer than the server takes.
        for top in (0..height).step_by(64) {
            let rows = 64.min(height - top);
            let part = photograph(width, top, rows);
            let (x, y) = (0, top.cast_signed());
            let format = ImageFormat::Z_PIXMAP;
            must(
                self.client
                    .put_image(format, pixmap, self.brush, width, rows, x, y, 0, 24, &part),
            );
        }
        let background = ChangeWindowAttributesAux::new().background_pixmap(pixmap);
        must(self.client.change_window_attributes(self.root, &background));
        must(self.client.clear_area(false, self.root, 0, 0, 0, 0));
        must(self.client.free_pixmap(pixmap));
        must(self.client.sync());
    }

    /// Where the window of a program is: left, top, width and height of what is inside its
    /// frame. None when the window manager lists none of that class.
    ///
    /// # Panics
    /// When the display is gone.
    pub fn window(&self, class: &str) -> Option<[i32; 4]> {
        let window = self.find(class)?;
        let geometry = self.client.get_geometry(window).ok()?.reply().ok()?;
        let place = self.client.translate_coordinates(window, self.root, 0, 0);
        let place = place.ok()?.reply().ok()?;
        Some([
            place.dst_x.into(),
            place.dst_y.into(),
            geometry.width.into(),
            geometry.height.into(),
        ])
    }

    /// The title of a program's window.
    ///
    /// # Panics
    /// When the display is gone.
    pub fn title(&self, class: &str) -> Option<String> {
        const MOST: u32 = 4096;
        let window = self.find(class)?;
        let name = self.client.intern_atom(false, b"_NET_WM_NAME");
        let name = must(must(name).reply()).atom;
        let title = self
            .client
            .get_property(false, window, name, AtomEnum::ANY, 0, MOST);
        let title = title.ok()?.reply().ok()?.value;
        Some(String::from_utf8_lossy(&title).into_owned())
    }

    /// Asks for a window to be put somewhere, in some size.
    ///
    /// # Panics
    /// When the display is gone.
    pub fn place(&self, class: &str, [left, top, width, height]: [i32; 4]) {
        let Some(window) = self.find(class) else {
            panic!("no window is of the class {class}");
        };
        let place = ConfigureWindowAux::new()
            .x(left)
            .y(top)
            .width(width.cast_unsigned())
            .height(height.cast_unsigned());
        must(self.client.configure_window(window, &place));
        must(self.client.sync());
    }

    fn find(&self, class: &str) -> Option<Window> {
        let list = self.client.intern_atom(false, b"_NET_CLIENT_LIST");
        let list = must(must(list).reply()).atom;
        let property = |window: Window, name: u32, kind: u32| {
            let asked = self.client.get_property(false, window, name, kind, 0, 4096);
            asked.ok()?.reply().ok()
        };
        let windows = property(self.root, list, AtomEnum::WINDOW.into())?;
        windows.value32()?.find(|window| {
            let name = property(*window, AtomEnum::WM_CLASS.into(), AtomEnum::STRING.into());
            let name = name.map(|name| name.value.to_ascii_lowercase());
            name.is_some_and(|name| String::from_utf8_lossy(&name).contains(class))
        })
    }

    /// The plainest capture there is: one segment of shared memory, no pointer.
    ///
    /// # Panics
    /// When the display has no MIT-SHM.
    pub fn grabber(&self) -> Grabber<'_> {
        let bytes = usize::from(self.size.0) * usize::from(self.size.1) * 4;
        let file = must(memfd_create("telechir-scene", MemfdFlags::CLOEXEC));
        must(ftruncate(&file, bytes as u64));
        let segment = must(self.client.generate_id());
        must(must(self.client.extension_information(shm::X11_EXTENSION_NAME)).ok_or("no MIT-SHM"));
        let copy = must(file.try_clone());
        must(must(self.client.shm_attach_fd(segment, copy, false)).check());
        Grabber {
            scene: self,
            segment,
            file,
            bgrx: vec![0; bytes],
        }
    }
}

/// Takes pictures with nothing around them.
#[derive(Debug)]
pub struct Grabber<'a> {
    scene: &'a Scene,
    segment: shm::Seg,
    file: OwnedFd,
    bgrx: Vec<u8>,
}

impl Grabber<'_> {
    /// The pixels as they are now: blue, green, red, unused.
    ///
    /// # Panics
    /// When the display is gone.
    pub fn grab(&mut self) -> &[u8] {
        let (width, height) = self.scene.size;
        let format = ImageFormat::Z_PIXMAP.into();
        let (client, root) = (&self.scene.client, self.scene.root);
        let planes = u32::MAX;
        let asked =
            client.shm_get_image(root, 0, 0, width, height, planes, format, self.segment, 0);
        must(must(asked).reply());
        let mut done = 0;
        while done < self.bgrx.len() {
            let rest = &mut self.bgrx[done..];
            done += must(rustix::io::pread(self.file.as_fd(), rest, done as u64));
        }
        &self.bgrx
    }
}

/// Rows of the picture, from `top` on: hills of colour and the noise of a camera, always the same.
fn photograph(width: u16, top: u16, rows: u16) -> Vec<u8> {
    let mut bgrx = Vec::with_capacity(usize::from(width) * usize::from(rows) * 4);
    for y in u32::from(top)..u32::from(top) + u32::from(rows) {
        for x in 0..u32::from(width) {
            let mixed = (x ^ y.rotate_left(15)).wrapping_mul(2_654_435_761);
            let noise = (mixed ^ mixed >> 15)
                .wrapping_mul(2_246_822_519)
                .to_le_bytes();
            let hill = |period: u32, at: u32| {
                let part = at % period;
                part.min(period - part) * 160 / period
            };
            let light = 40 + hill(700, x) + hill(500, y);
            let grain = |byte: u8| u32::from(byte % 4);
            let pixel = [
                light / 2 + 60 + grain(noise[0]),
                light + grain(noise[1]),
                light + 20 + grain(noise[2]),
            ];
            bgrx.extend(pixel.map(|value| value.min(255).to_le_bytes()[0]));
            bgrx.push(0);
        }
    }
    bgrx
}
