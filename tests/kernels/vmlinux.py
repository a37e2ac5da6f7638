"""vmlinux.py BZIMAGE OUT: the ELF image inside a bzImage, which QEMU boots by PVH: no firmware, no decompressor."""
import lzma
import subprocess
import sys
import zlib


def tool(*command):
    return lambda data: subprocess.run(command, input=data, capture_output=True).stdout


FORMS = {
    b"\xfd7zXZ\0": lambda data: lzma.LZMADecompressor().decompress(data),
    b"\x1f\x8b\x08": lambda data: zlib.decompressobj(31).decompress(data),
    b"\x28\xb5\x2f\xfd": tool("zstd", "-dcq"),
    b"\x02\x21\x4c\x18": tool("lz4", "-dcq"),
}


def images(data):
    for magic, unpack in FORMS.items():
        at = data.find(magic)
        while at >= 0:
            try:
                yield unpack(data[at:])
            except (lzma.LZMAError, zlib.error, EOFError):
                pass
            at = data.find(magic, at + 1)


image = next((i for i in images(open(sys.argv[1], "rb").read()) if i.startswith(b"\x7fELF") and len(i) > 1 << 20), None)
if image is None:
    sys.exit(f"{sys.argv[1]}: no ELF image found")
open(sys.argv[2], "wb").write(image)
