#!/usr/bin/env bash
# Installs missing packages on Debian 12 and prints them. Does nothing if none is missing.
set -euo pipefail

packages=(
  "chromium:/usr/lib/chromium/chromium:the browser"
  "chromium-headless-shell:/usr/lib/chromium/chromium-headless-shell:the headless browser"
  "xvfb:/usr/bin/Xvfb:private X servers"
  "xauth:/usr/bin/xauth:X server cookies"
  "openbox:/usr/bin/openbox:the window manager of private desktops"
  "dbus:/usr/bin/dbus-daemon:the session bus of private desktops"
  "at-spi2-core:/usr/libexec/at-spi-bus-launcher:accessibility of desktop applications"
  "bubblewrap:/usr/bin/bwrap:the sandbox for shells and applications"
  "util-linux:/usr/bin/setsid:terminals for sandboxed shells"
  "mousepad:/usr/bin/mousepad:the editor used by the demo"
  "gnome-calculator:/usr/bin/gnome-calculator:a GTK 4 application, for tests"
  "speedcrunch:/usr/bin/speedcrunch:a Qt application, for tests"
  "python3-pyatspi:/usr/lib/python3/dist-packages/pyatspi/__init__.py:accessibility from Python, for benchmarks"
  "tesseract-ocr:/usr/bin/tesseract:OCR for windows without accessibility"
  "xterm:/usr/bin/xterm:a terminal window, for tests"
  "jwm:/usr/bin/jwm:a second window manager, for tests"
  "less:/usr/bin/less:a pager, for tests of the shell"
  "ed:/usr/bin/ed:a line editor, for tests of the shell"
  "vim-tiny:/usr/bin/vi:a terminal editor, for tests of the shell"
  "curl:/usr/bin/curl:an HTTP client, for tests of the egress proxy"
  "python3-venv:/usr/share/python-wheels:Python environments for the providers' SDKs, for tests"
  "fonts-dejavu-core:/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf:Latin, Greek and Cyrillic letters"
  "fonts-noto-cjk:/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc:Chinese, Japanese and Korean letters"
  "fonts-noto-color-emoji:/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf:emoji"
)

# For long runs only.
if [ "${APPLICATIONS:-}" = 1 ]; then
  packages+=(
    "featherpad:/usr/bin/featherpad:a Qt application"
    "firefox-esr:/usr/bin/firefox-esr:a browser with elements of its own"
    "gimp:/usr/bin/gimp:a GTK 2 application"
    "libreoffice-calc:/usr/bin/localc:a large application"
    "libreoffice-gtk3:/usr/lib/libreoffice/program/libvclplug_gtk3lo.so:its elements"
    "libreoffice-writer:/usr/bin/lowriter:a large application"
    "zenity:/usr/bin/zenity:GTK 3 dialogs"
    "thunar:/usr/bin/thunar:a file manager"
    "pcmanfm:/usr/bin/pcmanfm:another file manager"
    "gnumeric:/usr/bin/gnumeric:a spreadsheet"
    "xarchiver:/usr/bin/xarchiver:an archive manager"
    "gedit:/usr/bin/gedit:an editor"
    "drawing:/usr/bin/drawing:a drawing program"
  )
fi

missing=()
for entry in "${packages[@]}"; do
  IFS=: read -r package file purpose <<<"$entry"
  if [ ! -e "$file" ]; then
    echo "missing: $package ($purpose)"
    missing+=("$package")
  fi
done

if [ ${#missing[@]} -gt 0 ]; then
  if ! command -v apt-get >/dev/null; then
    echo "apt-get not found; install these packages, then run this again: ${missing[*]}" >&2
    exit 1
  fi
  run=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "sudo not found; run as root, or install these packages: ${missing[*]}" >&2; exit 1; }
    run=(sudo)
  fi
  echo "installing: ${missing[*]}"
  # Mirrors fail now and then, and another program may hold the locks: of the lists and of dpkg.
  options=(-o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  "$(dirname "$0")/retry.sh" "${run[@]}" apt-get "${options[@]}" update -qq
  "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  for entry in "${packages[@]}"; do
    IFS=: read -r package file _ <<<"$entry"
    [ -e "$file" ] || { echo "$package was installed, but $file does not exist." >&2; exit 1; }
  done
  echo "installed."
fi

# bubblewrap and Chromium's own sandbox need unprivileged user namespaces.
switch=/proc/sys/kernel/unprivileged_userns_clone
if [ -r "$switch" ] && [ "$(cat "$switch")" = 0 ]; then
  echo "Unprivileged user namespaces are disabled. Run: sysctl -w kernel.unprivileged_userns_clone=1" >&2
  exit 1
fi
