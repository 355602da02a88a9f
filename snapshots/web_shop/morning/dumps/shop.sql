{
 "carts": {
  "c1": {
   "kettle-2l": 1
  }
 },
 "orders": [],
 "products": [
  {
   "name": "Blue teapot",
   "price": 2450,
   "sku": "teapot-blue",
   "stock": 5
  },
  {
   "name": "Green lamp",
   "price": 3900,
   "sku": "lamp-green",
   "stock": 2
  },
  {
   "name": "Kettle, 2 litres",
   "price": 1890,
   "sku": "kettle-2l",
   "stock": 8
  },
  {
   "name": "Oak bread board",
   "price": 1575,
   "sku": "board-oak",
   "stock": 0
  },
  {
   "name": "Set of 6 glasses",
   "price": 1200,
   "sku": "glasses-6",
   "stock": 12
  }
 ]
}
