"""Where the junctions of generated cities are: point patterns, one for each character."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from numpy.random import Generator

RADIUS = 2000.0
"""Metres from the centre of a generated city to its border."""
STRETCH = 1.3
"""How much longer than wide an old town is."""

Points = Float[np.ndarray, "J 2"]
"""Metres east and north of the city's centre."""


def directions(angle: float) -> tuple[Float[np.ndarray, "2"], Float[np.ndarray, "2"]]:
    """Unit vectors along an angle, and across it to the left."""
    return np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])


def gaps(generator: Generator, mean: float, spread: float) -> Float[np.ndarray, " G"]:
    """Positions along an axis through the city, with log-normal gaps."""
    steps = mean * np.exp(generator.normal(-(spread**2) / 2, spread, int(3.2 * RADIUS / mean)))
    places = np.cumsum(steps)
    return places - places[-1] / 2


def lattice(
    generator: Generator, across: float, along: float, angle: float, jitter: float, spread: float = 0.6
) -> Points:
    """A turned grid of blocks `across` by `along` metres on average."""
    x, y = np.meshgrid(gaps(generator, across, spread), gaps(generator, along, spread))
    points = np.stack([x.ravel(), y.ravel()], 1)
    points += generator.normal(0, jitter, points.shape)
    return points @ np.array(directions(angle))


def scatter(generator: Generator, gap: float, disorder: float = 0.42) -> Points:
    """An organic pattern: a hexagonal grid shaken until nothing of it is left to see."""
    columns, rows = (np.arange(-1.1 * RADIUS, 1.1 * RADIUS, step) for step in (gap, gap * 0.87))
    x, y = np.meshgrid(columns, rows)
    x[1::2] += gap / 2
    points = np.stack([x.ravel(), y.ravel()], 1)
    return points + generator.normal(0, disorder * gap, points.shape)


def town(generator: Generator, gap: float, disorder: float = 0.42) -> Points:
    """An old town: organic, stretched as along a valley, a coast or a road, and denser in the middle."""
    points = scatter(generator, gap, disorder)
    axis, _ = directions(generator.uniform(0, np.pi))
    points = points + (STRETCH - 1) * (points @ axis)[:, None] * axis
    return points * (0.4 + 0.6 * np.linalg.norm(points, axis=1, keepdims=True) / RADIUS)


def warp(generator: Generator, points: Points, degrees: float, wave: float = 1300) -> Points:
    """Bend space smoothly, so that parallel streets turn by about this much over the city."""
    moved = points.copy()
    for _ in range(4):
        angle, phase = generator.uniform(0, 2 * np.pi, 2)
        length = wave * generator.uniform(0.7, 1.6)
        along, across = directions(angle)
        wave_at = np.sin(2 * np.pi * (points @ along) / length + phase)
        moved += (np.radians(degrees) * length / (2 * np.pi) * 0.8 * wave_at)[:, None] * across
    return moved


def within(points: Points, radius: float = RADIUS) -> Points:
    """The points of the city's disc."""
    return points[np.linalg.norm(points, axis=1) < radius]


def keep_apart(points: Points, distance: float) -> Points:
    """Drop each point that is too close to an earlier one."""
    keep = np.ones(len(points), bool)
    for i in range(len(points)):
        if keep[i]:
            keep[i + 1 :] &= np.linalg.norm(points[i + 1 :] - points[i], axis=1) >= distance
    return points[keep]


def manhattan(generator: Generator) -> Points:
    """Long blocks; the axes turn twice across the city, as where an island bends."""
    points = lattice(generator, 62, 135, 0.35, jitter=5, spread=0.55)
    return within(warp(generator, points, 13, wave=2600))


def join_quarters(generator: Generator, num: int, make_grid: Callable[[], Points]) -> Points:
    """Quarters around random centres, each with a grid of its own."""
    centres = within(generator.uniform(-RADIUS, RADIUS, (200, 2)))[:num]
    grids = [make_grid() for _ in centres]
    nearest = [np.linalg.norm(grid[:, None] - centres, axis=2).argmin(1) for grid in grids]
    return np.concatenate(
        [grid[near == i] for i, (grid, near) in enumerate(zip(grids, nearest, strict=True))]
    )


def quarters(generator: Generator, num: int = 5) -> Points:
    """Gridded quarters, each turned its own way."""

    def grid() -> Points:
        across, along = generator.uniform(60, 80), generator.uniform(95, 140)
        return lattice(generator, across, along, generator.uniform(0, np.pi), jitter=6)

    return keep_apart(within(warp(generator, join_quarters(generator, num, grid), 9)), 26)


def organic(generator: Generator) -> Points:
    """Nothing straight; denser in the middle."""
    return within(town(generator, 78))


def radial(generator: Generator) -> Points:
    """Rays and rings; the rays double where they get too far apart."""
    points = []
    radius, spokes, turn = 70.0, 7, generator.uniform(0, 2 * np.pi)
    while radius < RADIUS:
        if 2 * np.pi * radius / spokes > 170:
            spokes *= 2
        angles = turn + 2 * np.pi * np.arange(spokes) / spokes
        angles = angles + generator.normal(0, 5, spokes) / radius
        ring = radius + generator.normal(0, 5, spokes)
        points.append(np.stack([ring * np.cos(angles), ring * np.sin(angles)], 1))
        radius += 88 * np.exp(generator.normal(-0.15, 0.55))
    return within(warp(generator, np.concatenate(points), 8))


def radial_old(generator: Generator) -> Points:
    """Rays and rings around an organic core."""
    outer = radial(generator)
    core = within(scatter(generator, 62), 690)
    return np.concatenate([outer[np.linalg.norm(outer, axis=1) > 720], core])


def boulevards(generator: Generator) -> Points:
    """An organic town with straight avenues cut through it."""
    old = town(generator, 90, 0.45)
    avenues = []
    for _ in range(11):
        angle, offset = generator.uniform(0, np.pi), generator.uniform(-0.8, 0.8) * RADIUS
        at = np.cumsum(45 + generator.exponential(35, 80)) - 3000
        way, side = directions(angle)
        avenues.append(at[:, None] * way + offset * side)
    avenue = keep_apart(np.concatenate(avenues), 30)
    # The town gives way, so that the points of an avenue see each other.
    near = np.stack([np.linalg.norm(old - point, axis=1) < 58 for point in avenue]).any(axis=0)
    return within(np.concatenate([avenue, keep_apart(old[~near], 26)]))


def terraces(generator: Generator) -> Points:
    """Rows of narrow blocks, turned from quarter to quarter."""

    def grid() -> Points:
        return lattice(generator, 46, 125, generator.uniform(0, np.pi), jitter=7, spread=0.5)

    return keep_apart(within(warp(generator, join_quarters(generator, 12, grid), 12)), 24)


def patchwork(generator: Generator) -> Points:
    """An organic core, gridded quarters around it, loose suburbs beyond."""
    grids, suburbs, core = quarters(generator, 6), scatter(generator, 105, 0.36), scatter(generator, 60)
    distance, far = np.linalg.norm(grids, axis=1), np.linalg.norm(suburbs, axis=1)
    ring = grids[(distance > 530) & (distance < 1430)]
    return np.concatenate([within(core, 500), ring, suburbs[(far > 1460) & (far < RADIUS)]])


def river_line(generator: Generator, number: int) -> Points:
    """The line of a river through the city; the second crosses the other way, east of the first."""
    at = np.linspace(-1.3 * RADIUS, 1.3 * RADIUS, 400)
    wave = 230 * np.sin(2 * np.pi * at / 2600 + generator.uniform(0, 6)) + 420 * (2 * number - 0.5)
    along, across = directions(generator.uniform(-0.3, 0.3) + number * 0.9)
    return at[:, None] * along + wave[:, None] * across


PATTERNS = {
    pattern.__name__: pattern
    for pattern in (manhattan, quarters, organic, radial, radial_old, boulevards, terraces, patchwork)
}
"""Patterns by name."""
