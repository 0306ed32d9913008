#!/usr/bin/env bash
# Installs what is missing on Debian 12 and says what it does. Nothing missing: does nothing.
set -euo pipefail

packages=(
  "chromium:/usr/lib/chromium/chromium:the browser"
  "chromium-headless-shell:/usr/lib/chromium/chromium-headless-shell:the browser where it has no window"
  "xvfb:/usr/bin/Xvfb:private X servers"
  "xauth:/usr/bin/xauth:cookies of X servers"
  "openbox:/usr/bin/openbox:a window manager for private desktops"
  "dbus:/usr/bin/dbus-daemon:a session bus for private desktops"
  "at-spi2-core:/usr/libexec/at-spi-bus-launcher:accessibility of desktop applications"
  "bubblewrap:/usr/bin/bwrap:the sandbox of shells and applications"
  "util-linux:/usr/bin/setsid:terminals for sandboxed shells"
  "mousepad:/usr/bin/mousepad:the editor that the demo uses"
  "gnome-calculator:/usr/bin/gnome-calculator:a program of GTK 4 for tests"
  "speedcrunch:/usr/bin/speedcrunch:a program of Qt for tests"
  "python3-pyatspi:/usr/lib/python3/dist-packages/pyatspi/__init__.py:the usual way to read what programs show, which the bench compares with"
  "tesseract-ocr:/usr/bin/tesseract:reads words off windows that say nothing of themselves"
  "xterm:/usr/bin/xterm:a terminal window for tests"
  "jwm:/usr/bin/jwm:another window manager, for tests"
  "less:/usr/bin/less:a pager, which the shell's tests leave"
  "ed:/usr/bin/ed:a line editor, which the shell's tests answer"
  "vim-tiny:/usr/bin/vi:an editor on a terminal, which the shell's tests answer"
  "curl:/usr/bin/curl:a program that reaches the network, for tests of the way out"
  "python3-venv:/usr/share/python-wheels:an environment for the providers' SDKs, which check what is written for them"
  "fonts-dejavu-core:/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf:Latin, Greek and Cyrillic letters"
  "fonts-noto-cjk:/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc:Chinese, Japanese and Korean letters"
  "fonts-noto-color-emoji:/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf:emoji"
)

# Only long runs need them.
if [ "${APPLICATIONS:-}" = 1 ]; then
  packages+=(
    "featherpad:/usr/bin/featherpad:an application of Qt"
    "libreoffice-calc:/usr/bin/localc:a large application"
    "zenity:/usr/bin/zenity:dialogs of GTK 3"
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
    echo "This is not Debian: please install ${missing[*]} yourself, then run this again." >&2
    exit 1
  fi
  run=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "Run as root, or install sudo: apt-get must install ${missing[*]}." >&2; exit 1; }
    run=(sudo)
  fi
  echo "installing: ${missing[*]}"
  "${run[@]}" apt-get update -qq
  "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  for entry in "${packages[@]}"; do
    IFS=: read -r package file _ <<<"$entry"
    [ -e "$file" ] || { echo "$package was installed, but $file is not there." >&2; exit 1; }
  done
  echo "installed."
fi

# The sandbox and Chromium's own sandbox need user namespaces of ordinary users.
switch=/proc/sys/kernel/unprivileged_userns_clone
if [ -r "$switch" ] && [ "$(cat "$switch")" = 0 ]; then
  echo "User namespaces are switched off. Run: sysctl -w kernel.unprivileged_userns_clone=1" >&2
  exit 1
fi
