"""Small city files of every format, made by hand."""

import struct

import networkx as nx
import numpy as np

from rapidtask.cities.city_graph import great_circle_distance

PLACES = [(48.8500, 2.3500), (48.8510, 2.3500), (48.8500, 2.3515), (48.8490, 2.3500), (48.8500, 2.3485)]
"""A crossing, then the ends of its arms to the north, east, south and west: about 110 m each."""
ARMS = [(0, 1), (0, 2), (0, 3), (0, 4)]


def node_spacing(city):
    """Median distance between neighbouring nodes, metres."""
    ends = [(city.lat[nodes], city.lng[nodes]) for nodes in city.edges.T]
    return float(np.median(great_circle_distance(*ends[0], *ends[1])))


def gexf_text(places=PLACES, edges=ARMS, attributes=("lat", "lng")):
    nodes = "".join(
        f'<node id="n{i}" label=""><attvalues><attvalue for="0" value="{lat}" />'
        f'<attvalue for="1" value="{lng}" /></attvalues></node>'
        for i, (lat, lng) in enumerate(places)
    )
    links = "".join(f'<edge source="n{a}" target="n{b}" />' for a, b in edges)
    titles = "".join(f'<attribute id="{i}" title="{t}" type="double" />' for i, t in enumerate(attributes))
    return (
        '<?xml version="1.0"?><gexf xmlns="http://www.gexf.net/1.2draft" version="1.2"><graph>'
        f'<attributes class="node">{titles}</attributes><nodes>{nodes}</nodes><edges>{links}</edges>'
        "</graph></gexf>"
    ).encode()


def osm_text(highway="residential"):
    nodes = "".join(f'<node id="{i + 1}" lat="{lat}" lon="{lng}"/>' for i, (lat, lng) in enumerate(PLACES))
    ways = "".join(
        f'<way id="{i + 1}"><nd ref="{a + 1}"/><nd ref="{b + 1}"/><tag k="highway" v="{highway}"/></way>'
        for i, (a, b) in enumerate(ARMS)
    )
    return f'<?xml version="1.0"?><osm version="0.6" generator="t">{nodes}{ways}</osm>'.encode()


def graphml_bytes(tmp_path, x="x", y="y", geometry=False):
    graph = nx.MultiDiGraph()
    for i, (lat, lng) in enumerate(PLACES):
        graph.add_node(str(i), **{x: str(lng), y: str(lat)})
    for a, b in ARMS:
        bulge = np.mean([PLACES[a], PLACES[b]], axis=0) + np.array([0.0002, 0.0003])
        line = [PLACES[a], tuple(bulge.tolist()), PLACES[b]]
        text = "LINESTRING (" + ", ".join(f"{lng} {lat}" for lat, lng in line) + ")"
        back = "LINESTRING (" + ", ".join(f"{lng} {lat}" for lat, lng in line[::-1]) + ")"
        graph.add_edge(str(a), str(b), **({"geometry": text} if geometry else {}))
        graph.add_edge(str(b), str(a), **({"geometry": back} if geometry else {}))
    path = tmp_path / "made.graphml"
    nx.write_graphml(graph, path)
    return path.read_bytes()


def graphml_text(places):
    """Streets from the first place to the others, without a name space."""
    nodes = "".join(
        f'<node id="n{i}"><data key="lat">{lat}</data><data key="lon">{lng}</data></node>'
        for i, (lat, lng) in enumerate(places)
    )
    links = "".join(f'<edge source="n0" target="n{i}"/>' for i in range(1, len(places)))
    keys = "".join(f'<key id="{k}" for="node" attr.name="{k}" attr.type="double"/>' for k in ("lat", "lon"))
    return f'<graphml>{keys}<graph edgedefault="undirected">{nodes}{links}</graph></graphml>'.encode()


def field(number, value):
    """One field of a protocol buffer: int as varint, float as double, else length-delimited."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def pano(i, with_place=True):
    lat, lng = PLACES[i]
    place = field(9, field(1, lat) + field(2, lng)) if with_place else b""
    return field(1, f"pano{i}") + field(3, "Some Street") + place + field(13, 90.0)


def streetlearn_graph(subgraph_size=12, with_places=True):
    graph = field(1, field(1, 48.0) + field(2, 2.0))
    for i in range(len(PLACES)):
        # Links are given one way only: they are made symmetric.
        others = b"".join(field(3, f"pano{b}") for a, b in ARMS if a == i) + field(3, "elsewhere")
        graph += field(3, field(1, f"pano{i}") + field(2, subgraph_size) + others)
        graph += field(5, pano(i, with_places))
    graph += field(3, field(1, "crumb") + field(2, 3) + field(3, "pano0"))
    return graph
