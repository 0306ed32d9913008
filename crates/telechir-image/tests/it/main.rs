//! Images, read back by independent decoders.
#![expect(clippy::unwrap_used, reason = "a failed test is a panic")]

use std::io::Cursor;

use telechir_device::Frame;
use telechir_image::{Format, encode, encode_within, shrink};
use telechir_protocol::Size;

fn frame(size: Size, pixel: impl Fn(u32, u32) -> [u8; 3]) -> Frame {
    let mut bgrx = Vec::new();
    for y in 0..size.height {
        for x in 0..size.width {
            let [red, green, blue] = pixel(x, y);
            bgrx.extend_from_slice(&[blue, green, red, 0]);
        }
    }
    Frame::new(size, bgrx).unwrap()
}

/// A desktop: plain windows, lines like text, and a photograph below.
fn desktop(size: Size) -> Frame {
    frame(size, |x, y| {
        if y > size.height / 2 {
            noise(x, y)
        } else {
            plain(size, x, y)
        }
    })
}

fn plain(size: Size, x: u32, y: u32) -> [u8; 3] {
    match (x, y) {
        _ if y % 16 < 9 && x % 7 < (y / 16 * 5 + x / 7) % 6 => [20, 20, 20],
        _ if x > size.width / 2 => [255, 255, 255],
        _ => [40, 80, 120],
    }
}

fn noise(x: u32, y: u32) -> [u8; 3] {
    let mixed = (x ^ y.rotate_left(13)).wrapping_mul(2_654_435_761);
    let [a, b, c, _] = (mixed ^ mixed >> 15)
        .wrapping_mul(2_246_822_519)
        .to_le_bytes();
    [a, b, c]
}

fn decode_png(bytes: &[u8]) -> (Size, Vec<u8>) {
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    (Size::new(info.width, info.height), rgb)
}

fn decode_webp(bytes: &[u8]) -> (Size, Vec<u8>) {
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(bytes)).unwrap();
    let mut rgb = vec![0; decoder.output_buffer_size().unwrap()];
    decoder.read_image(&mut rgb).unwrap();
    let (width, height) = decoder.dimensions();
    (Size::new(width, height), rgb)
}

#[test]
fn exact_formats_give_every_pixel_back() {
    for (width, height) in [(1, 1), (2, 3), (5, 64), (1023, 129), (64, 200), (1280, 800)] {
        let size = Size::new(width, height);
        for frame in [
            desktop(size),
            frame(size, noise),
            frame(size, |_, _| [1, 2, 3]),
        ] {
            let expected = (size, frame.to_rgb());
            let bytes = encode(&frame, Format::Png).unwrap();
            assert!(decode_png(&bytes) == expected, "PNG {width}x{height}");
            let bytes = encode(&frame, Format::Webp).unwrap();
            assert!(decode_webp(&bytes) == expected, "WebP {width}x{height}");
        }
    }
}

#[test]
fn a_frame_that_came_as_a_png_is_encoded_again() {
    let size = Size::new(70, 50);
    let plain = frame(size, |x, y| plain(size, x, y));
    let mut came = Vec::new();
    let mut encoder = png::Encoder::new(&mut came, size.width, size.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::NoCompression);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&plain.to_rgb()).unwrap();
    writer.finish().unwrap();
    let frame = Frame::packed(size, came.clone(), |png| {
        let pixels = decode_png(png).1;
        let pixels = pixels.chunks_exact(3);
        Some(pixels.flat_map(|rgb| [rgb[2], rgb[1], rgb[0], 0]).collect())
    });
    let bytes = encode(&frame, Format::Png).unwrap();
    assert!(bytes.len() * 2 < came.len(), "{} bytes", bytes.len());
    assert!(decode_png(&bytes) == (size, plain.to_rgb()));
}

#[test]
fn the_first_format_that_is_small_enough_is_taken() {
    let frame = frame(Size::new(300, 200), noise);
    let formats = [
        Format::Png,
        Format::Jpeg { quality: 85 },
        Format::Jpeg { quality: 30 },
    ];
    let lengths = formats.map(|format| encode(&frame, format).unwrap().len());
    assert!(
        lengths.is_sorted_by(|larger, smaller| larger > smaller),
        "{lengths:?}"
    );
    for (format, length) in formats.into_iter().zip(lengths) {
        let (bytes, taken) = encode_within(&frame, &formats, length).unwrap();
        assert_eq!((bytes.len(), taken), (length, format));
    }
    let error = encode_within(&frame, &formats, lengths[2] - 1).unwrap_err();
    assert!(error.to_string().contains("in every format"), "{error}");
}

/// A level of the `png` crate for comparison.
fn level(frame: &Frame, compression: png::Compression) -> usize {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, frame.size().width, frame.size().height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(compression);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&frame.to_rgb()).unwrap();
    writer.finish().unwrap();
    bytes.len()
}

#[test]
fn a_plain_desktop_is_smaller_than_in_the_crates_levels() {
    let size = Size::new(1280, 800);
    let plain = frame(size, |x, y| plain(size, x, y));
    let ours = encode(&plain, Format::Png).unwrap().len();
    let fast = level(&plain, png::Compression::Fast);
    assert!(ours * 10 < fast * 8, "{ours} of {fast} bytes");
}

/// Light that changes slowly, with grain: small differences, but no repetition.
fn photograph(x: u32, y: u32) -> [u8; 3] {
    let grain = noise(x, y).map(|byte| u32::from(byte % 4));
    let light = (x * 3 + y * 5) / 16;
    grain.map(|grain| (60 + light % 150 + grain).to_le_bytes()[0])
}

#[test]
fn a_photograph_beside_plain_windows_is_hardly_larger_than_at_the_fast_level() {
    let size = Size::new(640, 480);
    // A window hides more than half of most rows, but less than half of the picture.
    for (width, height) in [(330, 400), (400, 300), (500, 200), (560, 470)] {
        let screen = frame(size, |x, y| match x < width && y < height {
            true => plain(size, x, y),
            false => photograph(x, y),
        });
        let ours = encode(&screen, Format::Png).unwrap().len();
        let fast = level(&screen, png::Compression::Fast);
        assert!(
            ours * 10 <= fast * 11,
            "{width}x{height}: {ours} of {fast} bytes"
        );
    }
}

#[test]
fn a_photograph_on_a_plain_page_is_filtered() {
    let size = Size::new(640, 480);
    let mixed = frame(size, |x, y| match y < 160 {
        true => photograph(x, y),
        false => plain(size, x, y),
    });
    let ours = encode(&mixed, Format::Png).unwrap().len();
    let pixels = 640 * 160;
    assert!(ours < pixels * 2, "{ours} bytes");
}

#[test]
fn noise_does_not_grow() {
    let size = Size::new(640, 480);
    let raw = 640 * 480 * 3;
    let bytes = encode(&frame(size, noise), Format::Png).unwrap();
    assert!(
        bytes.len() < raw + raw / 100,
        "{} of {raw} bytes",
        bytes.len()
    );
}

#[test]
fn a_jpeg_has_its_size_and_is_small() {
    let bytes = encode(
        &frame(Size::new(640, 480), |x, y| {
            [(x / 3).to_le_bytes()[0], (y / 2).to_le_bytes()[0], 90]
        }),
        Format::Jpeg { quality: 85 },
    )
    .unwrap();
    assert_eq!(bytes[..2], [0xff, 0xd8]);
    assert!(bytes.len() < 40_000, "{}", bytes.len());
}

#[test]
fn a_frame_without_pixels_is_refused() {
    let empty = Frame::new(Size::new(0, 7), Vec::new()).unwrap();
    for format in Format::ALL {
        let error = encode(&empty, format).unwrap_err();
        assert!(error.to_string().contains("0x7 pixels"), "{error}");
    }
    let one = Frame::new(Size::new(1, 1), vec![0; 4]).unwrap();
    assert!(shrink(&one, Size::new(0, 1)).is_err());
}

#[test]
fn formats_have_names_and_media_types() {
    let names = Format::ALL.map(|format| (format.name(), format.media_type()));
    let expected = [
        ("png", "image/png"),
        ("webp", "image/webp"),
        ("jpeg", "image/jpeg"),
    ];
    assert_eq!(names, expected);
    for format in Format::ALL {
        assert_eq!(Format::named(format.name()), Some(format));
    }
    assert_eq!(Format::named("gif"), None);
}

#[test]
fn one_colour_stays_that_colour_at_any_size() {
    let source = frame(Size::new(97, 61), |_, _| [255, 128, 3]);
    for size in [Size::new(96, 60), Size::new(13, 61), Size::new(1, 1)] {
        let image = shrink(&source, size).unwrap();
        assert_eq!(image.size(), size);
        let pixels = (size.width * size.height) as usize;
        assert_eq!(image.to_rgb(), [255, 128, 3].repeat(pixels));
    }
}

#[test]
fn a_thin_line_is_still_seen_when_it_is_smaller() {
    let source = frame(Size::new(400, 400), |x, _| {
        if x == 201 { [0; 3] } else { [255; 3] }
    });
    let image = shrink(&source, Size::new(200, 200)).unwrap();
    let darkest = (0..200)
        .filter_map(|x| image.pixel(x, 100))
        .map(|[red, ..]| red)
        .min();
    assert!(darkest.unwrap() < 180, "{darkest:?}");
}

#[test]
fn the_same_size_is_the_same_frame() {
    let source = frame(Size::new(30, 20), noise);
    assert_eq!(shrink(&source, source.size()).unwrap(), source);
}
