"""`make picture`: draw the top of a report as `docs/images/report.png` with Chromium. Two arguments
replace the report and the file.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    report = Path(sys.argv[1]).resolve()
    picture = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else ROOT / "docs" / "images" / "report.png"
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("picture: chromium is missing; install it and run the command again")
    picture.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,1600"]
        command = [chromium, *flags, f"--user-data-dir={profile}", f"--screenshot={picture}", report.as_uri()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)


if __name__ == "__main__":
    main()
