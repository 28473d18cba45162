"""Makes PNG files of screens small: the 256 colours that are most frequent, and the nearest of them for all others."""
import collections
import struct
import zlib


def chunks(data):
    at = 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + size]
        at += 12 + size


def predicted(filter_type, left, up, corner):
    if filter_type == 4:
        estimate = left + up - corner
        return min((abs(estimate - x), i, x) for i, x in enumerate((left, up, corner)))[2]
    return (0, left, up, (left + up) // 2)[filter_type]


def rows_of(data):
    """Width and rows of pixels, three bytes each; of files with 8 bits a channel, without or with alpha."""
    parts = list(chunks(data))
    width, height, depth, colour = struct.unpack(">IIBB", dict(parts)[b"IHDR"][:10])
    step = {2: 3, 6: 4}[colour]
    assert depth == 8
    raw = zlib.decompress(b"".join(part for kind, part in parts if kind == b"IDAT"))
    size, before, rows = width * step, bytearray(width * step), []
    for y in range(height):
        start = y * (size + 1)
        line = bytearray(raw[start + 1:start + 1 + size])
        for i in range(size if raw[start] else 0):
            near = i >= step
            line[i] = (line[i] + predicted(raw[start], line[i - step] if near else 0, before[i],
                                           before[i - step] if near else 0)) & 255
        rows.append([bytes(line[i:i + 3]) for i in range(0, size, step)])
        before = line
    return width, rows


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def shrink(path):
    with open(path, "rb") as file:
        width, rows = rows_of(file.read())
    often = collections.Counter(pixel for row in rows for pixel in row).most_common()
    palette = [colour for colour, _ in often[:256]]
    number = {colour: i for i, colour in enumerate(palette)}
    for colour, _ in often[256:]:
        number[colour] = min(range(len(palette)), key=lambda i: sum((a - b) ** 2 for a, b in zip(palette[i], colour)))
    pixels = b"".join(b"\0" + bytes(number[pixel] for pixel in row) for row in rows)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(rows), 8, 3, 0, 0, 0))
                   + chunk(b"PLTE", b"".join(palette)) + chunk(b"IDAT", zlib.compress(pixels, 9)) + chunk(b"IEND", b""))
