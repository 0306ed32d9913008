//! Changes a display in tests and benchmarks (wallpaper, painting, window positions), and takes
//! reference captures.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    AtomEnum, ChangeGCAux, ChangeWindowAttributesAux, ConfigureWindowAux, ConnectionExt as _,
    CreateGCAux, Gcontext, ImageFormat, Rectangle, SubwindowMode, Window,
};
use x11rb::wrapper::ConnectionExt as _;

use crate::xvfb::{XClient, connect};

/// Options of an xterm with text large enough for OCR.
pub const LEGIBLE_XTERM: [&str; 6] = [
    "-geometry",
    "60x20+100+80",
    "-fa",
    "DejaVu Sans Mono",
    "-fs",
    "12",
];

/// An X client that changes one display.
#[derive(Debug)]
pub struct DesktopFixture {
    client: XClient,
    root: Window,
    size: (u16, u16),
    brush: Gcontext,
    colour: u32,
}

/// Display errors fail the test.
fn expect_display<T, E: std::fmt::Display>(outcome: Result<T, E>) -> T {
    outcome.unwrap_or_else(|error| panic!("the display rejected a request: {error}"))
}

impl DesktopFixture {
    /// Connects to the display that `environment` names.
    ///
    /// # Panics
    /// If the display is unreachable.
    pub fn open(environment: &[(String, String)]) -> Self {
        let (client, screen, _socket) = connect(environment);
        let screen = &client.setup().roots[screen];
        let (root, size) = (
            screen.root,
            (screen.width_in_pixels, screen.height_in_pixels),
        );
        let brush = expect_display(client.generate_id());
        let over_all = CreateGCAux::new().subwindow_mode(SubwindowMode::INCLUDE_INFERIORS);
        expect_display(client.create_gc(brush, root, &over_all));
        Self {
            client,
            root,
            size,
            brush,
            colour: 0,
        }
    }

    /// Paints a corner of the screen in a new colour, over all windows.
    ///
    /// # Panics
    /// If the connection is lost.
    pub fn paint_corner(&mut self) {
        self.colour = self.colour.wrapping_add(0x0001_0305);
        let colour = ChangeGCAux::new().foreground(self.colour);
        expect_display(self.client.change_gc(self.brush, &colour));
        let corner = Rectangle {
            x: 0,
            y: 0,
            width: 4,
            height: 4,
        };
        expect_display(
            self.client
                .poly_fill_rectangle(self.root, self.brush, &[corner]),
        );
        expect_display(self.client.sync());
    }

    /// Sets a wallpaper similar to a photograph: soft colour gradients with camera noise.
    ///
    /// # Panics
    /// If the connection is lost.
    pub fn set_photo_wallpaper(&self) {
        let (width, height) = self.size;
        let pixmap = expect_display(self.client.generate_id());
        expect_display(
            self.client
                .create_pixmap(24, pixmap, self.root, width, height),
        );
        // In parts, because the server limits the request size.
        for top in (0..height).step_by(64) {
            let rows = 64.min(height - top);
            let part = photograph(width, top, rows);
            let (x, y) = (0, top.cast_signed());
            let format = ImageFormat::Z_PIXMAP;
            expect_display(
                self.client
                    .put_image(format, pixmap, self.brush, width, rows, x, y, 0, 24, &part),
            );
        }
        let background = ChangeWindowAttributesAux::new().background_pixmap(pixmap);
        expect_display(self.client.change_window_attributes(self.root, &background));
        expect_display(self.client.clear_area(false, self.root, 0, 0, 0, 0));
        expect_display(self.client.free_pixmap(pixmap));
        expect_display(self.client.sync());
    }

    /// Area of a program's window without its frame: left, top, width and height. None if the
    /// window manager lists no window of that class.
    ///
    /// # Panics
    /// If the connection is lost.
    pub fn window(&self, class: &str) -> Option<[i32; 4]> {
        let window = self.find(class)?;
        let geometry = self.client.get_geometry(window).ok()?.reply().ok()?;
        let position = self.client.translate_coordinates(window, self.root, 0, 0);
        let position = position.ok()?.reply().ok()?;
        Some([
            position.dst_x.into(),
            position.dst_y.into(),
            geometry.width.into(),
            geometry.height.into(),
        ])
    }

    /// The title of a program's window, if it exists.
    ///
    /// # Panics
    /// If the connection is lost.
    pub fn title(&self, class: &str) -> Option<String> {
        const MAX_TITLE_WORDS: u32 = 4096;
        let window = self.find(class)?;
        let name = self.client.intern_atom(false, b"_NET_WM_NAME");
        let name = expect_display(expect_display(name).reply()).atom;
        let title =
            self.client
                .get_property(false, window, name, AtomEnum::ANY, 0, MAX_TITLE_WORDS);
        let title = title.ok()?.reply().ok()?.value;
        Some(String::from_utf8_lossy(&title).into_owned())
    }

    /// Requests a position and size for a program's window.
    ///
    /// # Panics
    /// If no window has the class, or the connection is lost.
    pub fn move_window(&self, class: &str, [left, top, width, height]: [i32; 4]) {
        let Some(window) = self.find(class) else {
            panic!("no window of class {class}");
        };
        let position = ConfigureWindowAux::new()
            .x(left)
            .y(top)
            .width(width.cast_unsigned())
            .height(height.cast_unsigned());
        expect_display(self.client.configure_window(window, &position));
        expect_display(self.client.sync());
    }

    fn find(&self, class: &str) -> Option<Window> {
        let list = self.client.intern_atom(false, b"_NET_CLIENT_LIST");
        let list = expect_display(expect_display(list).reply()).atom;
        let property = |window: Window, name: u32, kind: u32| {
            let request = self.client.get_property(false, window, name, kind, 0, 4096);
            request.ok()?.reply().ok()
        };
        let windows = property(self.root, list, AtomEnum::WINDOW.into())?;
        windows.value32()?.find(|window| {
            let name = property(*window, AtomEnum::WM_CLASS.into(), AtomEnum::STRING.into());
            let name = name.map(|name| name.value.to_ascii_lowercase());
            name.is_some_and(|name| String::from_utf8_lossy(&name).contains(class))
        })
    }

    /// The simplest possible capture: one shared memory segment, no pointer.
    ///
    /// # Panics
    /// If the display has no MIT-SHM.
    pub fn grabber(&self) -> ReferenceCapture<'_> {
        let bytes = usize::from(self.size.0) * usize::from(self.size.1) * 4;
        let file = expect_display(memfd_create("telechir-scene", MemfdFlags::CLOEXEC));
        expect_display(ftruncate(&file, bytes as u64));
        let segment = expect_display(self.client.generate_id());
        expect_display(
            expect_display(self.client.extension_information(shm::X11_EXTENSION_NAME))
                .ok_or("no MIT-SHM"),
        );
        let copy = expect_display(file.try_clone());
        expect_display(expect_display(self.client.shm_attach_fd(segment, copy, false)).check());
        ReferenceCapture {
            scene: self,
            segment,
            file,
            bgrx: vec![0; bytes],
        }
    }
}

/// Captures the screen without any processing.
#[derive(Debug)]
pub struct ReferenceCapture<'a> {
    scene: &'a DesktopFixture,
    segment: shm::Seg,
    file: OwnedFd,
    bgrx: Vec<u8>,
}

impl ReferenceCapture<'_> {
    /// The current pixels: blue, green, red, unused.
    ///
    /// # Panics
    /// If the connection is lost.
    pub fn grab(&mut self) -> &[u8] {
        let (width, height) = self.scene.size;
        let format = ImageFormat::Z_PIXMAP.into();
        let (client, root) = (&self.scene.client, self.scene.root);
        let planes = u32::MAX;
        let request =
            client.shm_get_image(root, 0, 0, width, height, planes, format, self.segment, 0);
        expect_display(expect_display(request).reply());
        let mut done = 0;
        while done < self.bgrx.len() {
            let rest = &mut self.bgrx[done..];
            done += expect_display(rustix::io::pread(self.file.as_fd(), rest, done as u64));
        }
        &self.bgrx
    }
}

/// Rows of a constant photograph-like image from `top` on: gradients with camera noise.
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
