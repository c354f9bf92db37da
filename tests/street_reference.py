"""One-Shot StreetLearn once more, slow and plain, from docs/cities.md: networkx multigraphs, state by state.

Written to be compared with the pooled worlds (`agree`): it shares no code with them.
"""

import math

import networkx as nx
import numpy as np


def to_networkx(city):
    graph = nx.Graph()
    for node in range(city.num_nodes):
        graph.add_node(node, lat=float(city.lat[node]), lng=float(city.lng[node]))
    graph.add_edges_from(city.edges.tolist())
    return graph


def bearing(graph, a, b):
    if a == b:
        return 0.0
    lat1, lng1 = math.radians(graph.nodes[a]["lat"]), math.radians(graph.nodes[a]["lng"])
    lat2, lng2 = math.radians(graph.nodes[b]["lat"]), math.radians(graph.nodes[b]["lng"])
    east = math.sin(lng2 - lng1) * math.cos(lat2)
    north = math.cos(lat1) * math.sin(lat2) - math.sin(lat1) * math.cos(lat2) * math.cos(lng2 - lng1)
    return math.atan2(east, north)


def by_bearing(graph, node):
    return sorted(graph[node], key=lambda other: (bearing(graph, node, other), other))


def paper_neighbourhood(graph, centre, num_intersections):
    """The first nodes of a breadth-first search that induce enough nodes of degree > 2."""
    order, queue = [centre], [centre]
    while queue:
        node = queue.pop(0)
        for other in by_bearing(graph, node):
            if other in order:
                continue
            order.append(other)
            queue.append(other)
            part = graph.subgraph(order)
            if sum(degree > 2 for _, degree in part.degree()) >= num_intersections:
                return nx.Graph(part)
    return None


def contract(part):
    """A multigraph without the degree-2 nodes; each edge knows its path."""
    reduced = nx.MultiGraph()
    for a, b in part.edges():
        reduced.add_edge(a, b, path=[a, b])
    for node in list(reduced.nodes):
        if reduced.degree(node) != 2 or reduced.number_of_edges(node, node):
            continue
        (_, a, one), (_, b, other) = reduced.edges(node, data="path")
        one = one if one[-1] == node else one[::-1]
        other = other if other[0] == node else other[::-1]
        assert (one[0], other[-1]) == (a, b)
        reduced.remove_node(node)
        reduced.add_edge(a, b, path=one + other[1:])
    return reduced


def paper_world(graph, centre, num_intersections, keep_intermediate=False):
    """{state: {action: state}}; a state is (node, first node along the street faced)."""
    part = paper_neighbourhood(graph, centre, num_intersections)
    if part is None:
        return None
    if keep_intermediate:
        reduced = nx.MultiGraph()
        for a, b in part.edges():
            reduced.add_edge(a, b, path=[a, b])
    else:
        reduced = contract(part)
    head, angle = {}, {}
    for a, b, path in reduced.edges(data="path"):
        several = a == b or reduced.number_of_edges(a, b) > 1
        for way in (path, path[::-1]):
            state = (way[0], way[1])
            head[state] = way[-1]
            angle[state] = bearing(graph, way[0], way[1] if several else way[-1])
    moves = {}
    for state in head:
        ring = sorted((s for s in head if s[0] == state[0]), key=lambda s: angle[s])
        i = ring.index(state)

        def turn(other, state=state):
            difference = (angle[other] - angle[state]) % (2 * math.pi)
            return min(difference, 2 * math.pi - difference)

        moves[state] = {
            "forward": min((s for s in head if s[0] == head[state]), key=turn),
            "left": ring[i - 1],
            "right": ring[(i + 1) % len(ring)],
        }
    return moves


def next_junction(graph, start, node):
    before = start
    path = [start, node]
    while graph.degree(node) == 2:
        one, other = graph[node]
        before, node = node, (other if one == before else one)
        path.append(node)
    return path


def release_world(graph, centre, num_intersections, keep_intermediate=False):
    """{state: {action: state}}; a state is (node, neighbour faced in the reduced simple graph)."""
    reduced, full = nx.Graph(), nx.Graph()
    to_visit, visited = [centre], []
    while to_visit:
        node = to_visit.pop(0)
        visited.append(node)
        ends = []
        for other in by_bearing(graph, node):
            path = next_junction(graph, node, other)
            ends.append(path[-1])
            reduced.add_edge(node, path[-1])
            nx.add_path(full, path)
        if sum(degree > 2 for _, degree in reduced.degree()) >= num_intersections:
            break
        for end in ends:
            if end not in visited and end not in to_visit:
                to_visit.append(end)
    else:
        return None
    if keep_intermediate:
        reduced = full

    def ring(node):
        return sorted(reduced[node], key=lambda other: bearing(graph, node, other))

    def look_up(node, angle):
        return min(range(len(ring(node))), key=lambda i: abs(bearing(graph, node, ring(node)[i]) - angle))

    moves = {}
    for a in reduced:
        for b in reduced[a]:
            angle = bearing(graph, a, b)
            here, i = ring(a), look_up(a, angle)
            moves[a, b] = {
                "forward": (b, ring(b)[look_up(b, angle)]),
                "left": (a, here[(i + 1) % len(here)]),
                "right": (a, here[i - 1]),
            }
    return moves


def moves_of(pool, world):
    """The pooled table of one world, keyed like the reference: (node, first node or head)."""
    worlds = pool.worlds
    second = pool.places.head if pool.places.options.rules == "release" else pool.places.first
    count = int(np.asarray(worlds.num_states)[world])
    names = list(zip(pool.places.tail[world, :count].tolist(), second[world, :count].tolist(), strict=True))
    assert len(set(names)) == count
    table = np.asarray(worlds.next_state)[world]
    return {
        name: {action: names[table[state, i]] for i, action in enumerate(("forward", "left", "right"))}
        for state, name in enumerate(names)
    }


def agree(pool):
    reference = paper_world if pool.places.options.rules == "paper" else release_world
    graphs = [to_networkx(city) for city in pool.places.cities]
    for world in range(pool.num_worlds):
        graph, centre = graphs[pool.places.city[world]], int(pool.places.centre[world])
        slow = reference(
            graph, centre, pool.places.options.intersections, pool.places.options.keep_intermediate
        )
        assert moves_of(pool, world) == slow, (pool.places.cities[pool.places.city[world]].name, centre)


def slow_distances(moves):
    """Fewest moves between all pairs of states of a table `[S, M]`: one breadth-first search for each."""
    graph = nx.DiGraph((state, int(other)) for state, row in enumerate(moves) for other in row)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    return np.array([[lengths[a][b] for b in range(len(moves))] for a in range(len(moves))])
