"""Makes town_areas.csv, town_cells.csv and town_bounds.csv: a simulated town, for examples. Run in this folder; Python 3 alone."""

import csv
import random

AGES = ["0-4", "5-17", "18-39", "40-64", "65+"]
AGE_SHARES = [0.06, 0.17, 0.31, 0.31, 0.15]
GROUPS = ["a", "b", "c", "d", "e", "f"]
GROUP_SHARES = [0.62, 0.2, 0.1, 0.05, 0.02, 0.01]

random.seed(2010)
areas, cells = [], {}
for tract in range(1, 5):
    # The shares of the groups differ by tract.
    shares = [share * random.gammavariate(2, 1) for share in GROUP_SHARES]
    for group in range(1, 4):
        for block in range(1, random.randint(4, 7)):
            area = (f"T{tract}", f"T{tract}-{group}", f"T{tract}-{group}-{block:02}")
            areas.append(area)
            # A block in five is empty, one in twelve has a home or barracks.
            people = 0 if random.random() < 0.2 else int(random.expovariate(1 / 28))
            quarters = random.randint(10, 60) if random.random() < 1 / 12 else 0
            for housing, number in (("household", people), ("group quarters", quarters)):
                for _ in range(number):
                    age = random.choices(AGES, AGE_SHARES)[0]
                    if housing == "group quarters" and age == "0-4":
                        age = "18-39"
                    key = (area[2], housing, random.choice(["female", "male"]), age, random.choices(GROUPS, shares)[0])
                    cells[key] = cells.get(key, 0) + 1

with open("town_areas.csv", "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["tract", "block_group", "block"])
    writer.writerows(areas)
with open("town_cells.csv", "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["block", "housing", "sex", "age", "group", "count"])
    writer.writerows([*key, count] for key, count in sorted(cells.items()))
# Which blocks have a home or barracks is public: there live 1 to 99, and elsewhere nobody does.
with open("town_bounds.csv", "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["tract", "block_group", "block", "query", "housing", "sex", "age", "group", "least", "most"])
    has_quarters = {key[0] for key in cells if key[1] == "group quarters"}
    for area in areas:
        bounds = (1, 99) if area[2] in has_quarters else ("", 0)
        writer.writerow([*area, "housing", "group quarters", "", "", "", *bounds])
