#!/usr/bin/env bash
# Installs Debian's Chromium when there is none; the browser test says so and is skipped where that is not permitted.
set -euo pipefail
for name in chromium-headless-shell chromium chromium-browser google-chrome; do command -v "$name" >/dev/null && exit 0; done
sudo=""
if [ "$(id -u)" -ne 0 ]; then
  sudo="sudo -n"
  $sudo true 2>/dev/null || { echo "browser: no Chromium, and no right to install one (apt-get install chromium-headless-shell)"; exit 0; }
fi
echo "browser: installing Chromium"
$sudo apt-get update -qq
# its headless shell where the distribution has one: half the download, and less work for the same pages
for package in chromium-headless-shell chromium; do
  apt-cache show "$package" >/dev/null 2>&1 || continue
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "$package" fonts-liberation >/dev/null
  break
done
