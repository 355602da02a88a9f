-- The breakfast menu as it is seeded. Prices in cents. The canonical dump of the running service has the same tables.
CREATE TABLE items (
  id TEXT PRIMARY KEY, position INTEGER NOT NULL UNIQUE, name TEXT NOT NULL UNIQUE, category TEXT NOT NULL,
  price_cents INTEGER NOT NULL CHECK (price_cents >= 0), default_size TEXT
);
CREATE TABLE sizes (
  item_id TEXT NOT NULL REFERENCES items (id), position INTEGER NOT NULL, name TEXT NOT NULL,
  price_cents INTEGER NOT NULL CHECK (price_cents >= 0), PRIMARY KEY (item_id, name)
);
CREATE TABLE modifiers (
  item_id TEXT NOT NULL REFERENCES items (id), position INTEGER NOT NULL, name TEXT NOT NULL,
  price_cents INTEGER NOT NULL CHECK (price_cents >= 0), PRIMARY KEY (item_id, name)
);
CREATE TABLE aliases (item_id TEXT NOT NULL REFERENCES items (id), name TEXT NOT NULL, PRIMARY KEY (item_id, name));
CREATE TABLE orders (session TEXT PRIMARY KEY, status TEXT NOT NULL CHECK (status IN ('open', 'finalized')));
CREATE TABLE order_lines (
  session TEXT NOT NULL REFERENCES orders (session), position INTEGER NOT NULL,
  item_id TEXT NOT NULL REFERENCES items (id), quantity INTEGER NOT NULL CHECK (quantity > 0), size TEXT,
  modifiers TEXT NOT NULL, PRIMARY KEY (session, position)
);

INSERT INTO items (id, position, name, category, price_cents, default_size) VALUES
  ('sausage-biscuit', 101, 'Sausage Biscuit', 'breakfast sandwich', 299, NULL),
  ('sausage-egg-cheese-biscuit', 102, 'Sausage Egg and Cheese Biscuit', 'breakfast sandwich', 449, NULL),
  ('bacon-egg-cheese-biscuit', 103, 'Bacon Egg and Cheese Biscuit', 'breakfast sandwich', 449, NULL),
  ('chicken-biscuit', 104, 'Crispy Chicken Biscuit', 'breakfast sandwich', 429, NULL),
  ('sausage-muffin', 105, 'Sausage English Muffin', 'breakfast sandwich', 319, NULL),
  ('bacon-egg-cheese-muffin', 106, 'Bacon Egg and Cheese English Muffin', 'breakfast sandwich', 459, NULL),
  ('ham-cheese-croissant', 107, 'Ham and Cheese Croissant', 'breakfast sandwich', 479, NULL),
  ('egg-white-croissant', 108, 'Egg White and Turkey Croissant', 'breakfast sandwich', 499, NULL),
  ('bacon-egg-cheese-bagel', 109, 'Bacon Egg and Cheese Bagel', 'breakfast sandwich', 519, NULL),
  ('sausage-burrito', 201, 'Sausage Burrito', 'burrito', 349, NULL),
  ('veggie-burrito', 202, 'Veggie Burrito', 'burrito', 369, NULL),
  ('steak-burrito', 203, 'Steak and Egg Burrito', 'burrito', 549, NULL),
  ('plain-bagel', 301, 'Plain Bagel', 'bagel', 219, NULL),
  ('everything-bagel', 302, 'Everything Bagel', 'bagel', 239, NULL),
  ('cinnamon-raisin-bagel', 303, 'Cinnamon Raisin Bagel', 'bagel', 239, NULL),
  ('buttermilk-pancakes', 401, 'Buttermilk Pancakes', 'griddle', 529, NULL),
  ('blueberry-pancakes', 402, 'Blueberry Pancakes', 'griddle', 599, NULL),
  ('french-toast-sticks', 403, 'French Toast Sticks', 'griddle', 399, NULL),
  ('belgian-waffle', 404, 'Belgian Waffle', 'griddle', 549, NULL),
  ('big-breakfast', 405, 'Big Breakfast Platter', 'griddle', 799, NULL),
  ('biscuits-gravy', 406, 'Biscuits and Gravy', 'griddle', 459, NULL),
  ('hash-browns', 501, 'Hash Browns', 'side', 179, 'medium'),
  ('bacon-side', 502, 'Side of Bacon', 'side', 249, NULL),
  ('sausage-side', 503, 'Side of Sausage', 'side', 229, NULL),
  ('scrambled-eggs', 504, 'Scrambled Eggs', 'side', 269, NULL),
  ('cheese-grits', 505, 'Cheese Grits', 'side', 239, NULL),
  ('oatmeal', 506, 'Oatmeal', 'side', 329, NULL),
  ('yogurt-parfait', 507, 'Yogurt Parfait', 'side', 359, NULL),
  ('fruit-cup', 508, 'Fruit Cup', 'side', 299, 'small'),
  ('blueberry-muffin', 601, 'Blueberry Muffin', 'bakery', 249, NULL),
  ('banana-nut-muffin', 602, 'Banana Nut Muffin', 'bakery', 259, NULL),
  ('cinnamon-roll', 603, 'Cinnamon Roll', 'bakery', 289, NULL),
  ('glazed-donut', 604, 'Glazed Donut', 'bakery', 149, NULL),
  ('chocolate-donut', 605, 'Chocolate Donut', 'bakery', 169, NULL),
  ('apple-turnover', 606, 'Apple Turnover', 'bakery', 199, NULL),
  ('coffee', 701, 'Brewed Coffee', 'coffee', 219, 'medium'),
  ('decaf', 702, 'Decaf Coffee', 'coffee', 219, 'medium'),
  ('iced-coffee', 703, 'Iced Coffee', 'coffee', 279, 'medium'),
  ('cold-brew', 704, 'Cold Brew', 'coffee', 359, 'medium'),
  ('latte', 705, 'Latte', 'coffee', 399, 'medium'),
  ('iced-latte', 706, 'Iced Latte', 'coffee', 419, 'medium'),
  ('cappuccino', 707, 'Cappuccino', 'coffee', 399, 'medium'),
  ('mocha', 708, 'Mocha', 'coffee', 439, 'medium'),
  ('caramel-macchiato', 709, 'Caramel Macchiato', 'coffee', 459, 'medium'),
  ('orange-juice', 801, 'Orange Juice', 'juice', 249, 'medium'),
  ('apple-juice', 802, 'Apple Juice', 'juice', 229, 'medium'),
  ('milk', 803, 'Milk', 'cold drink', 179, NULL),
  ('chocolate-milk', 804, 'Chocolate Milk', 'cold drink', 199, NULL),
  ('hot-chocolate', 805, 'Hot Chocolate', 'hot drink', 299, 'medium'),
  ('hot-tea', 806, 'Hot Tea', 'hot drink', 199, 'medium'),
  ('iced-tea', 807, 'Iced Tea', 'cold drink', 199, 'medium'),
  ('bottled-water', 808, 'Bottled Water', 'cold drink', 159, NULL),
  ('strawberry-smoothie', 809, 'Strawberry Banana Smoothie', 'smoothie', 449, 'medium'),
  ('mango-smoothie', 810, 'Mango Smoothie', 'smoothie', 449, 'medium');

INSERT INTO sizes (item_id, position, name, price_cents)
  SELECT items.id, step.position, step.name, items.price_cents + step.more_cents
  FROM items, (
    SELECT 1 AS position, 'small' AS name, -40 AS more_cents
    UNION ALL SELECT 2, 'medium', 0 UNION ALL SELECT 3, 'large', 60
  ) AS step
  WHERE items.default_size = 'medium';
INSERT INTO sizes (item_id, position, name, price_cents) VALUES
  ('fruit-cup', 1, 'small', 299), ('fruit-cup', 2, 'large', 429);

INSERT INTO modifiers (item_id, position, name, price_cents)
  SELECT items.id, choice.position, choice.name, choice.price_cents
  FROM items JOIN (
    SELECT 'breakfast sandwich' AS category, 1 AS position, 'no cheese' AS name, 0 AS price_cents
    UNION ALL SELECT 'breakfast sandwich', 2, 'extra cheese', 60
    UNION ALL SELECT 'breakfast sandwich', 3, 'no egg', 0
    UNION ALL SELECT 'breakfast sandwich', 4, 'extra egg', 120
    UNION ALL SELECT 'breakfast sandwich', 5, 'add bacon', 150
    UNION ALL SELECT 'breakfast sandwich', 6, 'add avocado', 150
    UNION ALL SELECT 'breakfast sandwich', 7, 'hot sauce', 0
    UNION ALL SELECT 'burrito', 1, 'no cheese', 0
    UNION ALL SELECT 'burrito', 2, 'extra cheese', 60
    UNION ALL SELECT 'burrito', 3, 'no onions', 0
    UNION ALL SELECT 'burrito', 4, 'no peppers', 0
    UNION ALL SELECT 'burrito', 5, 'add avocado', 150
    UNION ALL SELECT 'burrito', 6, 'extra salsa', 30
    UNION ALL SELECT 'burrito', 7, 'sour cream', 40
    UNION ALL SELECT 'bagel', 1, 'toasted', 0
    UNION ALL SELECT 'bagel', 2, 'cream cheese', 90
    UNION ALL SELECT 'bagel', 3, 'butter', 30
    UNION ALL SELECT 'bagel', 4, 'strawberry jam', 40
    UNION ALL SELECT 'griddle', 1, 'extra syrup', 40
    UNION ALL SELECT 'griddle', 2, 'no syrup', 0
    UNION ALL SELECT 'griddle', 3, 'no butter', 0
    UNION ALL SELECT 'griddle', 4, 'whipped cream', 60
    UNION ALL SELECT 'griddle', 5, 'fresh strawberries', 120
    UNION ALL SELECT 'coffee', 1, 'oat milk', 70
    UNION ALL SELECT 'coffee', 2, 'almond milk', 70
    UNION ALL SELECT 'coffee', 3, 'skim milk', 0
    UNION ALL SELECT 'coffee', 4, 'cream', 0
    UNION ALL SELECT 'coffee', 5, 'sugar', 0
    UNION ALL SELECT 'coffee', 6, 'vanilla syrup', 60
    UNION ALL SELECT 'coffee', 7, 'extra shot', 90
    UNION ALL SELECT 'coffee', 8, 'light ice', 0
    UNION ALL SELECT 'juice', 1, 'no ice', 0
    UNION ALL SELECT 'smoothie', 1, 'add protein', 120
    UNION ALL SELECT 'smoothie', 2, 'no banana', 0
    UNION ALL SELECT 'hot drink', 1, 'whipped cream', 60
    UNION ALL SELECT 'hot drink', 2, 'honey', 30
    UNION ALL SELECT 'hot drink', 3, 'lemon', 0
  ) AS choice ON choice.category = items.category;
INSERT INTO modifiers (item_id, position, name, price_cents) VALUES
  ('hash-browns', 1, 'well done', 0), ('hash-browns', 2, 'no salt', 0), ('hash-browns', 3, 'ketchup', 0),
  ('scrambled-eggs', 1, 'extra cheese', 60), ('scrambled-eggs', 2, 'hot sauce', 0),
  ('oatmeal', 1, 'brown sugar', 0), ('oatmeal', 2, 'raisins', 40), ('oatmeal', 3, 'no nuts', 0),
  ('yogurt-parfait', 1, 'no granola', 0), ('yogurt-parfait', 2, 'extra granola', 50),
  ('blueberry-muffin', 1, 'warmed', 0), ('banana-nut-muffin', 1, 'warmed', 0), ('cinnamon-roll', 1, 'warmed', 0),
  ('cinnamon-roll', 2, 'extra icing', 50), ('apple-turnover', 1, 'warmed', 0),
  ('iced-tea', 1, 'sweetened', 0), ('iced-tea', 2, 'unsweetened', 0), ('iced-tea', 3, 'lemon', 0),
  ('iced-tea', 4, 'no ice', 0);

INSERT INTO aliases (item_id, name) VALUES
  ('sausage-muffin', 'sausage muffin'), ('bacon-egg-cheese-muffin', 'bacon egg and cheese muffin'),
  ('chicken-biscuit', 'chicken biscuit'), ('egg-white-croissant', 'egg white croissant'),
  ('veggie-burrito', 'vegetable burrito'), ('veggie-burrito', 'vegetarian burrito'),
  ('steak-burrito', 'steak burrito'), ('buttermilk-pancakes', 'pancakes'), ('buttermilk-pancakes', 'hotcakes'),
  ('buttermilk-pancakes', 'stack of pancakes'), ('blueberry-pancakes', 'blueberry hotcakes'),
  ('french-toast-sticks', 'french toast'), ('belgian-waffle', 'waffle'), ('big-breakfast', 'big breakfast'),
  ('big-breakfast', 'breakfast platter'), ('hash-browns', 'hash brown'), ('hash-browns', 'hashbrown'),
  ('bacon-side', 'bacon'), ('bacon-side', 'bacon strips'), ('sausage-side', 'sausage'),
  ('sausage-side', 'sausage patty'), ('scrambled-eggs', 'eggs'), ('cheese-grits', 'grits'),
  ('oatmeal', 'porridge'), ('yogurt-parfait', 'parfait'), ('yogurt-parfait', 'yogurt'), ('fruit-cup', 'fruit'),
  ('banana-nut-muffin', 'banana muffin'), ('glazed-donut', 'glazed doughnut'),
  ('chocolate-donut', 'chocolate doughnut'), ('apple-turnover', 'apple pie'), ('coffee', 'coffee'),
  ('coffee', 'hot coffee'), ('coffee', 'black coffee'), ('coffee', 'cup of joe'), ('decaf', 'decaf'),
  ('latte', 'hot latte'), ('mocha', 'cafe mocha'), ('caramel-macchiato', 'macchiato'), ('orange-juice', 'oj'),
  ('hot-chocolate', 'hot cocoa'), ('hot-chocolate', 'cocoa'), ('hot-tea', 'tea'), ('bottled-water', 'water'),
  ('bottled-water', 'bottle of water'), ('strawberry-smoothie', 'strawberry smoothie');
