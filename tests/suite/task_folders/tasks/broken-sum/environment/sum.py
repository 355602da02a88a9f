from pathlib import Path

product = 1
for line in Path("numbers.txt").read_text().splitlines():
    product *= int(line)
print(product)
