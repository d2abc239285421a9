"""Makes persons_2010.toml: what persons `congenial simulate --persons` puts into blocks. Run in this folder; Python 3 alone.

Numbers of persons are those of the census of 2010: race by Hispanic origin from the census brief C2010BR-02 (tables 1 and 2), persons under 18 and
persons in group quarters from summary file 1 (tables P12, P12H and P42). The split of two or more races over their 57 combinations is Zipf's law, the
shares of blocks are assumptions: in the census 6.2 of 11.1 million blocks had people.
"""

BLOCKS = 10_157_420
# By number of the category: one race, the last two or more.
NOT_HISPANIC = [196_817_552, 37_685_848, 2_247_098, 14_465_124, 481_576, 604_265, 5_966_481]
HISPANIC = [26_735_713, 1_243_471, 685_150, 209_128, 58_437, 18_503_103, 3_042_592]
UNDER_18 = {"not Hispanic": 57_050_576, "Hispanic": 17_130_891}
# By number of the type: persons, and the share of blocks that have it.
QUARTERS = {
    1: ("correctional facilities for adults", 2_263_602, 0.0005),
    2: ("juvenile facilities", 151_315, 0.0006),
    3: ("nursing facilities", 1_502_264, 0.0018),
    4: ("other institutions", 76_478, 0.0003),
    5: ("college housing", 2_521_090, 0.0008),
    6: ("military quarters", 338_191, 0.0001),
    7: ("other group quarters", 1_134_383, 0.004),
}
ALL = sum(NOT_HISPANIC) + sum(HISPANIC)
assert ALL == 308_745_538
HOUSEHOLDS = ALL - sum(number for _, number, _ in QUARTERS.values())
assert HOUSEHOLDS == 300_758_215


def races(numbers):
    harmonic = sum(1 / k for k in range(1, 58))
    more = [max(1, round(numbers[6] / k / harmonic)) for k in range(1, 58)]
    return ", ".join(f"{code} = {number}" for code, number in enumerate(numbers[:6] + more))


def written(name, leaves, persons, types, voting_age, hispanic, race):
    return f"""[[class]]
name = "{name}"
leaves = {leaves}
mean = {persons / BLOCKS / leaves:.3f}
[class.attributes]
hhgq = {{ {types} }}
voting_age = {{ {voting_age} }}
hispanic = {{ {hispanic} }}
race = {{ {race} }}
"""


classes = []
for name, numbers, code, leaves in (("not Hispanic", NOT_HISPANIC, 0, 0.5), ("Hispanic", HISPANIC, 1, 0.15)):
    share = sum(numbers) / ALL
    ages = f"0 = {UNDER_18[name]}, 1 = {sum(numbers) - UNDER_18[name]}"
    classes.append(written(f"in households, {name}", leaves, HOUSEHOLDS * share, "0 = 1", ages, f"{code} = 1", races(numbers)))
for code, (name, number, leaves) in QUARTERS.items():
    ages = "0 = 1" if code == 2 else "1 = 1"
    origin = f"0 = {sum(NOT_HISPANIC)}, 1 = {sum(HISPANIC)}"
    both = [a + b for a, b in zip(NOT_HISPANIC, HISPANIC)]
    classes.append(written(name, leaves, number, f"{code} = 1", ages, origin, races(both)))
with open("persons_2010.toml", "w") as file:
    file.write("# Made by make_persons.py, which has the sources.\n" + "\n".join(classes))
