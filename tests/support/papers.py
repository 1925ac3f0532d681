"""Small PDFs: whole ones with empty pages, in plain objects or packed ones."""

from __future__ import annotations

import hashlib
import zlib

from quorum.domain.conversation.attachment import Document
from quorum.infrastructure.attachment_files import count_pages


def pdf(pages: int = 1, *, is_packed: bool = False, trailer: str = "", padding: int = 0) -> bytes:
    """A PDF of so many empty pages; `is_packed` puts its objects into a stream, `padding` makes it larger."""
    kids = " ".join(f"{number} 0 R" for number in range(3, 3 + pages))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>",
        *["<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>"] * pages,
    ]
    out = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + b"%" + b"x" * padding + b"\n")
    if is_packed:
        data = zlib.compress("\n".join(objects).encode())
        out += f"9 0 obj\n<< /Type /ObjStm /N {len(objects)} /First 0 /Filter /FlateDecode ".encode()
        out += f"/Length {len(data)} >>\nstream\r\n".encode() + data + b"\r\nendstream\nendobj\n"
        out += f"trailer << /Root 1 0 R {trailer} >>\n%%EOF\n".encode()
        return bytes(out)
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    start = len(out)
    out += f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n".encode()
    out += "".join(f"{place:010} 00000 n \n" for place in places).encode()
    out += f"trailer << /Size {len(places) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def a_document(content: bytes, name: str = "report.pdf") -> Document:
    """What is known of this content."""
    return Document(
        name=name,
        pages=count_pages(content),
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )
