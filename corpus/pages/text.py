"""Own text for the sample pages: articles made of sentences, the same for the same seed.

Nothing here is copied. Sentences are filled in from word lists, so that pages differ in length, names, numbers and
punctuation, which is all that a reader of HTML can go by."""
import random

PLACES = "Northmere Valtby Ostrel Kingsport Dunmore Larvik-on-Sea Tessaly Brandholm Quill Harbor Mirandola".split()
PLACES = ["Northmere", "Valtby", "Ostrel", "Port Quill", "Dunmarsh", "Larsund", "Tessaly", "Brandholm", "Mirando"]
PEOPLE = ["Ina Veld", "Olm Radek", "Suri Khan-Lee", "Peter Aldous", "Marta Quist", "Joao Ferrim", "Dr. Elin Brakk",
          "T. J. Morrow", "Anouk Desmet", "Yusuf Oral", "Greta Sand", "Bo Lindqvist-Hart"]
BODIES = ["the harbor board", "the city council", "a small cooperative", "the regional court", "the water authority",
          "the museum's friends", "a start-up of nine people", "the teachers' union", "the ferry company"]
THINGS = ["the swing bridge", "the new tide gate", "an index of old maps", "the night train", "the sorting hall",
          "the release", "the second reactor", "the archive", "a seed bank", "the parser", "the greenhouse",
          "the migration plan", "the public bath", "the battery line", "the reading room"]
DID = ["reopened", "was postponed", "passed its last inspection", "cost twice what was planned", "lost a third of its staff",
       "moved to the east bank", "was praised by visitors", "went offline for a week", "grew faster than expected",
       "has been rebuilt from salvaged parts", "drew protests", "was sold for a symbolic sum"]
WHEN = ["On Friday", "After nine days of repairs", "Last spring", "In 1998", "Early on Tuesday", "For most of the decade",
        "By the end of the quarter", "At around 4:30 a.m.", "Within {n} hours", "Since the flood"]
WHY = ["because nobody had measured the old foundations", "although the budget had been cut by {n} percent",
       "while {n} volunteers kept the doors open", "which surprised even those who had asked for it",
       "so that trains from {place} can call twice an hour", "as a study of {n} similar towns had suggested",
       "before the first cold night of the year", "and the invoice went to {body}"]
QUOTES = ["We counted every bolt, and then we counted them again", "It is not the machine that is slow, it is the form",
          "Nobody reads the manual until the water is in the cellar", "I would do it all again, but with better shoes",
          "The figures are what they are", "You cannot patch a bridge at night"]
ASIDES = ["That is the short version.", "Not everyone agrees.", "It rained.", "Then came the audit.",
          "The rest is routine.", "Nothing of the kind happened.", "So far, so good."]
HEADS = ["What changed", "How it began", "The cost", "A second look", "Lessons", "Open questions", "What comes next",
         "Why it matters", "The numbers", "Behind the wall", "Background", "Limits of the method"]
CODE = ["fn main() {\n    let gate = Gate::open(\"tide\")?;\n    gate.close_at(4.5);\n}",
        "$ pip install tidegate\n$ tidegate --port 9600 --once\nlistening on 9600",
        "for gate in gates:\n    if gate.level > 3:\n        gate.close()\n    print(gate.name)",
        "port = 9600\n[retry]\nattempts = 3\nbackoff = \"2s\""]

FOREIGN = {
    "de": ["Der Hafen von {place} wurde am Freitag nach neun Tagen wieder geöffnet.",
           "Die Fähren fahren ab Montag, sagte Hafenmeisterin {person}, allerdings nur tagsüber.",
           "Nach Angaben der Stadt kostete die Reparatur {n} Millionen Euro und damit doppelt so viel wie geplant.",
           "Niemand hatte die alten Fundamente vermessen, obwohl ein Gutachten das schon vor Jahren verlangt hatte.",
           "„Wir haben jede Schraube gezählt“, erklärte {person} bei der Übergabe an die Behörde.",
           "Im Frühjahr soll geprüft werden, ob auch das zweite Tor ersetzt werden muss.",
           "Anwohner klagen über den Lärm der Pumpen, der nachts bis in die Altstadt dringt.",
           "Für die Händler am Kai beginnt damit eine Saison, auf die sie kaum noch gehofft hatten."],
    "fr": ["Le port de {place} a rouvert vendredi, après neuf jours de travaux sur ses écluses.",
           "Selon {person}, capitaine du port, les bacs circuleront de nouveau dès lundi matin.",
           "La facture s'élève à {n} millions d'euros, soit le double de ce qui était prévu au budget.",
           "Personne n'avait mesuré les fondations, bien qu'un rapport l'eût demandé il y a des années.",
           "« Nous avons compté chaque boulon », a déclaré {person} lors de la visite du chantier.",
           "Les riverains, eux, se plaignent du bruit des pompes qui tournent toute la nuit.",
           "Une seconde étude dira au printemps s'il faut remplacer l'autre porte."],
    "es": ["El puerto de {place} reabrió el viernes tras nueve días de reparaciones en sus compuertas.",
           "Los transbordadores volverán a navegar el lunes, según explicó {person}, jefe de la dársena.",
           "La obra costó {n} millones de euros, el doble de lo que figuraba en el presupuesto.",
           "Nadie había medido los cimientos, aunque un informe lo pedía desde hacía años.",
           "«Contamos cada tornillo y luego los volvimos a contar», dijo {person} a la prensa.",
           "Los vecinos se quejan del ruido de las bombas, que se oye hasta en el casco viejo."],
    "pl": ["Port w {place} otwarto ponownie w piątek, po dziewięciu dniach napraw śluzy.",
           "Promy wrócą na trasę od poniedziałku, zapowiedziała {person}, kapitan portu.",
           "Koszt robót wyniósł {n} milionów złotych, czyli dwa razy więcej, niż planowano.",
           "Nikt nie zmierzył starych fundamentów, choć raport domagał się tego od lat.",
           "Mieszkańcy skarżą się na hałas pomp, który nocą słychać aż na rynku."],
    "ru": ["Порт {place} снова открылся в пятницу после девяти дней ремонта шлюзов.",
           "Паромы пойдут с понедельника, сообщила капитан порта {person}.",
           "Работы обошлись в {n} миллионов рублей, то есть вдвое дороже, чем было запланировано.",
           "Никто не измерил старый фундамент, хотя отчёт требовал этого много лет назад.",
           "Жители жалуются на шум насосов, который ночью слышен даже в старом городе."],
    "ja": ["{place}港は、九日間の水門修理を終えて、金曜日に再び開いた。",
           "フェリーは月曜日から運航を再開すると、港長の{person}は話している。",
           "費用は{n}億円で、当初の予算の二倍になったという。",
           "古い基礎を測った人は誰もいなかったが、報告書は何年も前からそれを求めていた。",
           "住民は、夜通し響くポンプの音に悩まされている。"],
}


class Writer:
    """Sentences and paragraphs from one seed."""

    def __init__(self, seed, language="en"):
        self.rng, self.language = random.Random(seed), language

    def fill(self, pattern):
        pick = self.rng.choice
        return (pattern.replace("{n}", str(self.rng.randint(3, 97))).replace("{place}", pick(PLACES))
                .replace("{person}", pick(PEOPLE)).replace("{body}", pick(BODIES)))

    def sentence(self):
        pick = self.rng.choice
        if self.language != "en":
            return self.fill(pick(FOREIGN[self.language]))
        kind = self.rng.randrange(6)
        if kind == 0:
            return f"“{pick(QUOTES)},” said {pick(PEOPLE)}, who speaks for {pick(BODIES)} in {pick(PLACES)}."
        if kind == 1:
            return pick(ASIDES)
        if kind == 2:
            return self.fill(f"{pick(THINGS).capitalize()} {pick(DID)}, {pick(WHY)}.")
        if kind == 3:
            return self.fill(f"{pick(WHEN)}, {pick(BODIES)} of {pick(PLACES)} announced that {pick(THINGS)} {pick(DID)}.")
        if kind == 4:
            return self.fill(f"{pick(PEOPLE)} adds that {pick(THINGS)} and {pick(THINGS)} belong together, {pick(WHY)}.")
        return self.fill(f"{pick(WHEN)}, {pick(THINGS)} {pick(DID)} {pick(WHY)}; {pick(BODIES)} declined to comment.")

    def paragraph(self, low=2, high=6):
        separator = "" if self.language == "ja" else " "
        return separator.join(self.sentence() for _ in range(self.rng.randint(low, high)))

    def title(self):
        if self.language != "en":
            return self.sentence().rstrip(".。")[:70]
        pick = self.rng.choice
        return f"{pick(THINGS).capitalize()} {pick(DID)} in {pick(PLACES)}"

    def teaser(self):
        return self.fill(f"{self.rng.choice(THINGS).capitalize()} {self.rng.choice(DID)}")

    def person(self):
        return self.rng.choice(PEOPLE)

    def date(self):
        return f"{self.rng.randint(2009, 2024)}-{self.rng.randint(1, 12):02}-{self.rng.randint(1, 28):02}"

    def blocks(self, n_paragraphs, extras=()):
        """The body of an article: pairs of kind and content. `extras` are kinds mixed in between paragraphs."""
        out = [("p", self.paragraph()) for _ in range(n_paragraphs)]
        for kind in extras:
            at = self.rng.randint(1, max(1, len(out) - 1))
            out.insert(at, (kind, self.extra(kind)))
        return out

    def extra(self, kind):
        if kind in ("h2", "h3"):
            return self.rng.choice(HEADS) if self.language == "en" else self.sentence()[:30]
        if kind in ("ul", "ol"):
            return [self.sentence() for _ in range(self.rng.randint(3, 5))]
        if kind == "quote":
            return self.sentence()
        if kind == "pre":
            return self.rng.choice(CODE)
        if kind == "table":
            return [[f"{self.rng.choice(PLACES)}", str(self.rng.randint(1, 99)), self.rng.choice(DID)] for _ in range(4)]
        if kind == "figure":
            return self.sentence()
        return self.paragraph(1, 2)
