"""The words that stories are made of: names, kinds of characters, traits, settings, things."""


def _words(text):
    return [word.strip() for word in text.replace("\n", " ").split(",") if word.strip()]


GIRL_NAMES = _words("""Mia, Lily, Anna, Rosie, Ella, Clara, Nora, Zoe, Maya, Ruby, Alice, Emma, Lucy, Grace, Ivy, Sofia,
Hanna, Leila, Priya, Aiko, Nina, Olive, Tess, Molly, Freya, Ines, Amara, Yara, Greta, Elsie, Matilda, Juno, Celia, Heidi,
Marta, Lena, Isla, Penny, Daisy, Fatima, Mei, Sara, Edith, Flora, Wilma, Dora, Hazel, Luna, Willow, Poppy""")

BOY_NAMES = _words("""Tom, Ben, Max, Leo, Sam, Jack, Finn, Oscar, Noah, Theo, Hugo, Felix, Milo, Arlo, Eli, Jonas, Omar,
Ravi, Kenji, Luca, Otto, Peter, Henry, Simon, Marco, Anton, Emil, Tariq, Diego, Walter, Jasper, Rufus, Albert, Edgar, Victor,
Nils, Oliver, George, Arthur, Louis, Samir, Mateo, Kai, Ned, Toby, Barnaby, Percy, Ralph, Gus, Wally""")

PET_NAMES = _words("""Pip, Bramble, Clover, Fern, Nutmeg, Biscuit, Pepper, Button, Maple, Thistle, Acorn, Sunny, Pebble,
Ziggy, Dot, Momo, Tiko, Juniper, Basil, Cinnamon, Mossy, Whisper, Bounce, Dusty, Honey, Twig, Cricket, Sorrel, Bubbles,
Truffle, Rusty, Snowy, Patch, Tumble, Waffles, Pickle, Marble, Breeze, Scout, Ollie, Benny, Coco, Kiki, Lulu, Nibbles,
Peanut, Teddy, Tansy, Bingo, Fidget, Hopper, Jolly, Mungo, Noodle, Puddle, Quill, Rolo, Skipper, Tuppy, Wink, Yodel, Zuzu,
Bobbin, Crumpet, Dapple, Echo, Flicker, Ginger, Humphrey, Iggy, Jingle, Kipper, Lark, Mallow, Nimbus, Oats, Pumpkin, Ripple,
Saffron, Toffee, Violet, Wren, Amber, Bertie, Cosmo, Dewey, Ember, Fergus, Gilly, Hattie, Igor, Jojo, Klaus, Lotte, Mabel""")

# kinds of characters, by the group that says where they live and how they look
KINDS = {
    "forest": _words("""fox, rabbit, bear, squirrel, hedgehog, mouse, owl, deer, badger, mole, beaver, raccoon, otter, frog,
        toad, wolf, hare, chipmunk, skunk, porcupine, weasel, bat, moose, lynx, boar, fawn, bear cub, fox cub, bunny, shrew,
        turtle, tortoise, newt, ferret, dormouse, salamander"""),
    "farm": _words("""pig, piglet, lamb, sheep, goat, cow, calf, horse, pony, donkey, hen, rooster, chick, duck, duckling,
        goose, gosling, turkey, puppy, dog, kitten, cat, foal, hamster, guinea pig, mule, ram"""),
    "wild": _words("""lion, tiger, elephant, giraffe, monkey, zebra, hippo, rhino, crocodile, panda, koala, kangaroo, parrot,
        cheetah, leopard, gorilla, lemur, sloth, camel, meerkat, antelope, lizard, chameleon, gecko, ostrich, armadillo,
        tapir, mongoose, lion cub, baby elephant, toucan, iguana, wombat, hyena, jackal, llama"""),
    "sea": _words("""penguin, seal, walrus, crab, sea turtle, seagull, pelican, puffin, polar bear, sea otter, albatross,
        hermit crab, arctic fox, reindeer, husky, whale, dolphin, fish, octopus, shark, seahorse, jellyfish, starfish, lobster,
        squid, goldfish, orca, swordfish, narwhal"""),
    "bird": _words("""sparrow, robin, crow, raven, swan, swallow, eagle, woodpecker, flamingo, peacock, pigeon, dove, magpie,
        stork, canary, hummingbird, heron, blackbird, nightingale, falcon, wren, finch, lark, jay, bluebird"""),
    "bug": _words("""bee, butterfly, ladybug, snail, ant, cricket, caterpillar, spider, beetle, firefly, grasshopper, worm,
        dragonfly, moth, bumblebee, slug"""),
    "fantasy": _words("""dragon, unicorn, fairy, elf, gnome, troll, giant, goblin, ghost, monster, phoenix, griffin, dinosaur,
        robot, dwarf, pixie, ogre, alien, leprechaun, yeti, imp, sprite, baby dragon, centaur, sea monster, zombie, vampire, werewolf,
        mummy, cyclops, genie, bigfoot, faun, wisp, basilisk, hydra, gargoyle, android, cyborg, T-rex"""),
    "thing": _words("""teapot, toy train, teddy bear, snowman, scarecrow, lantern, tin soldier, kite, paper boat, cloud, star,
        car, tractor, clock, umbrella, balloon, puppet, spoon, pumpkin, tree, leaf, raindrop, snowflake, candle, wooden horse,
        doll, bicycle, train, boat, steam engine, toy car, rag doll, button, sock, book, pencil, broom, chair, lamp, drum,
        bell, fire truck, airplane, rocket, tugboat, windmill, lighthouse, computer, graphics card, potato, carrot, apple,
        toaster, kettle, fridge, phone, shoe, boot, guitar, piano, violin, trumpet, cup, pot, pan, fork, table, door, window, mirror,
        box, brick, stone, mountain, river, cookie, donut, pizza, banana, orange, lemon, pear, strawberry, cherry, tomato, onion, cabbage,
        pea, bean, egg, cheese, loaf of bread, sandwich, muffin, submarine, ship, helicopter, truck, taxi, tram, scooter, wagon, sled,
        camera, radio, television, printer, keyboard, laptop, calculator, satellite, vacuum cleaner, washing machine, lamp post, house,
        castle, bridge, tent, ladder, hammer, nail, screw, wheel, rope, ring, crown, coin, letter, stamp, map, newspaper, sponge, towel,
        blanket, pillow, carpet, curtain, glove, mitten, scarf, hat, jacket, ribbon, zipper, marble, dice, ball, rubber duck, sandcastle,
        cupcake, pancake, gingerbread man, mushroom, acorn, flower, pebble, moon, sunflower, cactus, bus"""),
    "he": _words("""boy, king, prince, wizard, farmer, fisherman, woodcutter, grandfather, old man, young man, shepherd boy,
        miller, blacksmith, knight, sailor, pirate, cowboy, postman, toymaker, tailor, cobbler, monk, boatman"""),
    "she": _words("""girl, queen, princess, witch, grandmother, old woman, young woman, shepherd girl, mermaid, milkmaid,
        dancer, seamstress, flower seller, fisherwoman, weaver, duchess"""),
    "person": _words("""baker, gardener, painter, inventor, astronaut, teacher, carpenter, musician, scientist, doctor,
        clockmaker, potter, shepherd, explorer, singer, juggler, magician, cook, hunter, beekeeper, captain, mapmaker, nurse,
        librarian, builder, firefighter, programmer, engineer, detective, poet, writer, student, child, ninja, superhero,
        clown, acrobat, traveler, storyteller, lighthouse keeper, driver, pilot, merchant, soldier, vet"""),
}
HUMAN_GROUPS = ("he", "she", "person")
ANIMAL_GROUPS = ("forest", "farm", "wild", "sea", "bird", "bug")
YOUNG_KINDS = set(_words("""boy, girl, child, prince, princess, shepherd boy, shepherd girl, student"""))

LOOKS = {
    "any": _words("little, little, little, little, small, small, tiny, young, big, old"),
    "animal": _words("""fluffy, round, spotted, brown, gray, white, black, golden, furry, silver, red, long-legged,
        bright-eyed, soft, plump, striped"""),
    "thing": _words("red, blue, green, yellow, old, wooden, shiny, painted, golden, silver, round, purple, rusty, new"),
    "human": _words("young, tall, red-haired, small, bright-eyed, old, curly-haired, poor, rosy-cheeked"),
}

# things that a character may treasure, lose, find, break or lend: one of each, so that "it" is always right
TREASURES = _words("""kite, scarf, drum, wooden boat, bell, marble, music box, straw hat, button, picture book, magnifying glass,
whistle, lantern, compass, key, teacup, paintbrush, necklace, pocket watch, umbrella, mitten, ball, feather, seashell, pebble,
flute, map, toy train, spinning top, bracelet, blanket, pillow, notebook, telescope, crown, ring, basket, harmonica, puppet,
backpack, fiddle, cap, brush, cup, pinwheel, locket, snow globe, quilt, hat, bow tie, trumpet, sled, spoon, coin, ribbon""")
TREASURE_LOOKS = _words("""red, blue, green, yellow, golden, silver, shiny, little, tiny, striped, purple, bright red, old,
sparkling, orange, pink, white, sky-blue, spotted, painted, soft, round""")

FOODS = _words("""sweet berries, red apples, honey cakes, ripe pears, warm rolls, cookies, juicy plums, crunchy carrots,
cherries, blueberry muffins, roasted chestnuts, strawberries, apple tarts, pancakes, peaches, walnuts, oat biscuits,
raspberry buns, corn cakes, figs, gingerbread hearts, lemon cakes, sunflower seeds, grapes, poppy-seed rolls""")
# (a dish, what it is made of)
DISHES = [pair.split(": ") for pair in _words("""apple pie: apples, pumpkin soup: pumpkins, blackberry jam: blackberries, honey cake: nuts,
carrot stew: carrots, mushroom soup: mushrooms, plum pudding: plums, cherry pie: cherries, nut bread: nuts, vegetable soup: vegetables,
strawberry cake: strawberries, pear tart: pears, lemon cake: lemons, potato soup: potatoes, raspberry pie: raspberries""")]
FLOWERS = _words("sunflower, rose, pumpkin, tulip, strawberry plant, apple tree, daisy, bean plant, cherry tree, bluebell")

# what shows a trait, said of the hero just after the first sentence
TRAITS = {
    "brave": ["[^he] {was not afraid of|never ran away from} {thunder|the dark|deep water|tall trees|strange noises}.",
              "Whenever something frightening happened, [H] was the first to step forward."],
    "kind": ["[^he] always had {a warm word|a smile|a little time} for everyone [he] met.",
             "If someone was sad, [H] was the first to {notice|sit down beside them|ask why}."],
    "curious": ["[^he] wanted to know {how everything worked|what was behind every hill|why the sky was blue}.",
                "[^he] asked {a hundred|more} questions {every day|before breakfast|from morning until night}."],
    "clever": ["[^he] could solve {any puzzle|every riddle} {in the blink of an eye|before lunch|that anyone could think of}.",
               "[^he] always had {a good idea|a plan|an answer} when nobody else did."],
    "shy": ["[^he] {hardly ever spoke|spoke very softly} and {liked to hide|often hid} when strangers came by.",
            "[^he] blushed whenever anyone said hello."],
    "lazy": ["[^he] {loved|liked} nothing more than {sleeping until noon|lying in the sun|a long nap after a short nap}.",
             "[^he] always said that {the work|everything} could wait until tomorrow."],
    "cheerful": ["[^he] {hummed|whistled|sang} {a happy tune|a song} {from morning until night|wherever [he] went}.",
                 "Even on {rainy|gray} days, [H] {found something to laugh about|had a smile for everyone}."],
    "gentle": ["[^he] {never stepped|took care never to step} on {a flower|the smallest ant}.",
               "[^he] spoke softly and {moved|walked} quietly, so that nobody was ever frightened of [him]."],
    "quiet": ["[^he] did not say much, but [he] {saw|noticed|heard} everything.",
              "[^he] liked to {listen|sit still and listen} more than [he] liked to talk."],
    "noisy": ["You could hear [him] coming from {three hills away|far away|the other end of the road}.",
              "[^he] {stamped|shouted|laughed} so loudly that the birds flew out of the trees."],
    "forgetful": ["[^he] {often forgot|could never remember} {where [he] had put things|what day it was|what [he] was about to do}."],
    "patient": ["[^he] could wait {for hours|all day long} without {a single sigh|complaining once}."],
    "proud": ["[^he] {thought|was sure} that nobody {could do things as well as [he] could|was as fine as [he] was}."],
    "stubborn": ["Once [H] had made up [his] mind, {nobody could change it|not even the wind could change it}."],
    "lonely": ["[^he] had nobody to {play|talk|eat supper} with, and the {days|evenings} were long and quiet."],
    "silly": ["[^he] {walked backward|wore a leaf as a hat|talked to the clouds} just to make everyone laugh."],
    "careful": ["[^he] {always looked twice|checked everything three times} before [he] {took a step|did anything}."],
    "polite": ["[^he] never forgot to say please and thank you{|, not even to the rain}."],
    "grumpy": ["[^he] {grumbled|complained} about {everything|the weather|the birds, the sun and the rain} {all day long|every morning}."],
    "greedy": ["[^he] always wanted {more than [he] needed|the biggest piece|everything for [himself]}."],
    "helpful": ["[^he] {carried baskets|swept paths|mended fences} for all the neighbors and never asked for anything."],
    "honest": ["[^he] always told the truth, even when it was {hard|not easy}."],
    "hungry": ["[^he] {thought|dreamed} about {breakfast|lunch|food} all day{| and all night}."],
    "sleepy": ["[^he] could fall asleep {in the middle of breakfast|before the sun was up|wherever [he] sat down}."],
    "playful": ["[^he] {turned everything into a game|wanted to play from morning until night}."],
    "dreamy": ["[^he] {watched|stared at} the clouds and {dreamed of faraway lands|made up stories about them}."],
    "funny": ["[^he] told jokes that made {everyone laugh|even the oldest neighbors giggle}."],
    "messy": ["[^his] {home|room} was so full of {odds and ends|crumbs and papers|things} that [he] could hardly find [his] own bed."],
    "nervous": ["[^he] {worried|fretted} about {everything|storms, shadows and loud noises}."],
    "friendly": ["[^he] {waved|said good morning} to everyone who passed by."],
    "generous": ["[^he] {would give|gave} away [his] last {crumb|cookie|penny} if somebody needed it."],
    "hopeful": ["[^he] {believed|was sure} that {every day|tomorrow} would bring something good."],
    "hardworking": ["[^he] got up before the sun and worked until {the stars came out|the work was done}."],
    "thoughtful": ["[^he] {remembered|never forgot} everybody's birthday{| and brought them flowers}."],
    "clumsy": ["[^he] {tripped over|bumped into} {[his] own feet|every stone on the path|things} {all the time|at least ten times a day}."],
    "happy": ["[^he] {smiled|laughed} {when the sun shone and when it rained|at everyone [he] met}."],
    "wise": ["[^he] thought about things for a long time before [he] spoke, and [his] advice was always good."],
    "adventurous": ["[^he] wanted to {climb every hill|follow every path|see what was behind the mountains}."],
    "mischievous": ["[^he] liked to play {little tricks|jokes} on [his] {friends|neighbors}."],
    "magical": ["When [he] {laughed|sang|sneezed}, {tiny sparks|little stars} {flew through|danced in} the air."],
    "merry": ["[^he] {danced|skipped} down the road every morning as if it were a holiday."],
    "timid": ["[^he] jumped at every {sound|shadow} and never went far from home."],
    "lucky": ["Wherever [he] went, {good things|something good} seemed to happen."],
    "sad": ["[^he] had forgotten how to smile, and nobody knew how to cheer [him] up."],
    "strong": ["[^he] could {lift|carry} {a heavy log|a big stone|a full barrel} {all by [himself]|without any help}."],
    "fast": ["[^he] could run {faster than the wind|so fast that nobody could catch [him]}."],
    "slow": ["[^he] did everything slowly, and {nobody liked to wait for [him]|everyone had to wait for [him]}."],
    "beautiful": ["Everyone who {saw [him]|passed by} {stopped to look|smiled}."],
    "famous": ["{Everyone|Everybody} for miles around knew [his] name."],
}


class Setting:
    """Where a story happens: how to say so, the spots in it, and the groups of characters that live there."""

    def __init__(self, the, where, spots, groups):
        self.the, self.where, self.groups = the, where, groups
        self.spots = [spot.split(" ", 1) for spot in _words(spots)]
        on = ("the farm", "the mountain", "the island", "the savanna", "the riverbank")
        self.at = f"{'on' if the in on else 'at' if the in ('the seaside', 'the North Pole', 'the lake') else 'in'} {the}"


SETTINGS = [
    Setting("the forest", "in a {quiet|green|deep|big|dark} forest", """under the old oak tree, beside the stream,
        behind the mossy rocks, near the hollow log, near the bramble bushes, by the little waterfall, among the tall ferns,
        at the edge of the clearing, beside the crooked pine, behind the blueberry bushes""", ("forest", "bird", "fantasy", "bug")),
    Setting("the meadow", "in a {sunny|wide|green} meadow", """beside the brook, under the willow tree, behind the haystack,
        among the daisies, by the wooden fence, near the old well, behind the big gray stone, beside the pond,
        under the wild rose bush, near the apple tree""", ("forest", "farm", "bug", "bird")),
    Setting("the farm", "on a {small|busy|sunny} farm", """behind the red barn, beside the duck pond, under the old cart,
        near the henhouse, by the garden gate, behind the haystack, beside the well, under the apple tree, near the stable,
        among the cabbages""", ("farm", "bird", "person")),
    Setting("the village", "in a {little|quiet|pretty} village", """beside the fountain, behind the bakery, near the old bridge,
        under the clock tower, by the mill, behind the church, near the market square, under the chestnut tree,
        beside the schoolhouse, by the garden wall""", ("farm", "he", "she", "person", "thing", "fantasy")),
    Setting("the town", "in a {small|busy|friendly} town", """beside the fountain, behind the library, near the train station,
        under the big clock, by the toy shop, behind the school, near the park bench, under the street lamp,
        beside the bookshop, by the old bridge""", ("he", "she", "person", "thing", "farm")),
    Setting("the valley", "in a {green|hidden|peaceful} valley", """beside the river, under the tall poplars, behind the hill,
        near the cave, by the stone bridge, among the wildflowers, behind the waterfall, beside the winding path,
        near the ruined tower, under the cliff""", ("forest", "farm", "bird", "fantasy", "he", "she", "wild")),
    Setting("the mountain", "on {a high|a snowy|the side of a tall} mountain", """beside the frozen lake, behind the great rock,
        near the cave, under the tall fir tree, by the mountain stream, near the wooden cabin, behind the snowdrift,
        beside the narrow path, under the cliff, near the old bridge""", ("forest", "bird", "fantasy", "he", "she", "sea")),
    Setting("the lake", "beside a {clear|deep|blue|quiet} lake", """near the wooden pier, among the reeds, behind the boathouse,
        under the weeping willow, by the flat stones, beside the old rowboat, near the beaver dam, behind the tall grass,
        under the alder tree, by the sandy bank""", ("forest", "bird", "bug", "he", "she")),
    Setting("the seaside", "by the {blue|wide|sparkling} sea", """near the lighthouse, behind the sand dunes, beside the tide pool,
        under the old pier, by the fishing boats, near the rocky cave, behind the big driftwood log, beside the palm tree,
        under the cliff, near the harbor wall""", ("sea", "bird", "he", "she", "person", "thing")),
    Setting("the island", "on a {tiny|faraway|sunny|green} island", """under the tallest palm tree, beside the lagoon,
        behind the volcano, near the sandy beach, by the coral rocks, near the old shipwreck, behind the banana trees,
        beside the spring, under the cliff, near the tide pool""", ("wild", "sea", "fantasy", "bird", "he", "she")),
    Setting("the jungle", "in a {warm|green|leafy|deep} jungle", """under the fig tree, beside the muddy river,
        behind the tangled vines, near the banana trees, by the tall waterfall, among the giant leaves, behind the fallen tree,
        beside the deep pool, near the ruined temple, under the rope bridge""", ("wild", "bird", "bug")),
    Setting("the savanna", "on the {wide|golden|sunny} savanna", """under the acacia tree, beside the water hole,
        behind the red rocks, near the termite hill, by the dry riverbed, among the tall grass, behind the thorn bushes,
        beside the dusty trail, near the round hill, under the baobab tree""", ("wild",)),
    Setting("the kingdom", "in a {small|faraway|peaceful|great} kingdom", """beside the castle gate, behind the stone tower,
        near the royal garden, under the drawbridge, by the marble fountain, near the stables, behind the rose hedge,
        beside the wishing well, near the old wall, under the great linden tree""", ("he", "she", "person", "fantasy")),
    Setting("the enchanted wood", "in an enchanted wood", """beside the silver pond, under the whispering tree,
        behind the ring of mushrooms, near the crystal cave, by the singing brook, among the glowing flowers,
        behind the gate of roots, beside the old stone, near the wishing well, under the crooked bridge""", ("fantasy", "forest", "bird", "she", "he")),
    Setting("the garden", "in a {big|sunny|forgotten|pretty} garden", """under the rose bush, beside the watering can,
        behind the flowerpots, near the garden shed, by the strawberry bed, among the tall sunflowers, behind the compost heap,
        beside the birdbath, near the stone wall, under the cabbage leaves""", ("bug", "bird", "thing")),
    Setting("the attic", "in the attic of an old house", """behind the old trunk, under the dusty chair, beside the round window,
        near the rocking horse, by the chimney, among the old books, behind the curtain, beside the broken clock,
        near the wooden stairs, under the big table""", ("thing",)),
    Setting("the toy shop", "in a {little|cozy|bright} toy shop", """behind the counter, under the bottom shelf,
        beside the shop window, near the dollhouse, by the front door, among the cardboard boxes, behind the puppet stage,
        beside the big globe, near the ladder, under the work table""", ("thing",)),
    Setting("the North Pole", "near the North Pole", """behind the snowdrift, beside the ice hole, under the northern lights,
        near the ice cave, by the frozen bay, near the old sled, behind the blue iceberg, beside the cabin,
        near the tall ice tower, by the frozen stream""", ("sea",)),
    Setting("the riverbank", "on the bank of a {wide|slow|sparkling} river", """under the willow tree, beside the stepping stones,
        behind the reeds, near the old mill, by the wooden bridge, among the rushes, behind the muddy hill,
        beside the ferry boat, near the bend in the river, under the tall elm""", ("forest", "farm", "bird", "wild", "he", "she")),
    Setting("the hills", "{high up|far away} in the {green|rolling|misty} hills", """beside the stone wall, under the lonely tree,
        behind the shepherd's hut, near the spring, by the sheep gate, among the heather, behind the round hill,
        beside the winding road, near the windmill, under the ledge""", ("farm", "forest", "he", "she", "person", "bird")),
]
