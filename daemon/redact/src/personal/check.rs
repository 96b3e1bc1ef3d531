//! Check digits: arithmetic that tells valid numbers from arbitrary digits.
//!
//! In: digits (0 to 9) or characters. Out: whether they are valid. Each is the published rule of the issuer.

/// Payment cards, Swedish and Canadian numbers: Luhn.
pub(super) fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, digit)| {
            // Every second digit from the right, beginning with the last but one, counts twice.
            let twice = u32::from(*digit) * (1 + (i as u32 & 1));
            if twice > 9 { twice - 9 } else { twice }
        })
        .sum();
    !digits.is_empty() && sum.is_multiple_of(10)
}

/// IBAN (ISO 13616): with letters as numbers and the first four characters moved to the end, 1 modulo 97.
pub(super) fn mod97(characters: &[u8]) -> bool {
    let turned = characters.iter().skip(4).chain(characters.iter().take(4));
    let rest = turned.fold(0_u32, |rest, byte| match byte.to_ascii_uppercase() {
        byte @ b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        byte @ b'A'..=b'Z' => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
        _ => 98,
    });
    rest == 1
}

/// Returns the value of digits; at most 18 are read, so that it fits a `u64`.
pub(super) fn number(digits: &[u8]) -> u64 {
    digits.iter().take(18).fold(0, |sum, digit| sum * 10 + u64::from(*digit))
}

/// Returns the sum of digits times weights.
pub(super) fn weighted(digits: &[u8], weights: &[i64]) -> i64 {
    digits.iter().zip(weights).map(|(digit, weight)| i64::from(*digit) * weight).sum()
}

/// German tax numbers (ISO 7064, modulo 11,10): 11 digits; exactly one of the first ten occurs twice or three times.
pub(super) fn german_tax(digits: &[u8]) -> bool {
    let Some((last, head)) = digits.split_last() else { return false };
    let mut product = 10_u32;
    for digit in head {
        let sum = (u32::from(*digit) + product) % 10;
        product = (if sum == 0 { 10 } else { sum }) * 2 % 11;
    }
    let mut counts = [0_u8; 10];
    head.iter()
        .filter_map(|digit| counts.get_mut(usize::from(*digit)).map(|n| *n += 1))
        .for_each(drop);
    let n_repeated = counts.iter().filter(|n| **n > 1).count();
    digits.len() == 11
        && head.first() != Some(&0)
        && n_repeated == 1
        && counts.iter().all(|n| *n <= 3)
        && (11 - product) % 10 == u32::from(*last)
}

/// Aadhaar: Verhoeff's check in the dihedral group of order 10.
pub(super) fn verhoeff(digits: &[u8]) -> bool {
    const PERMUTED: [[u8; 10]; 8] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 5, 7, 6, 2, 8, 3, 0, 9, 4],
        [5, 8, 0, 3, 7, 9, 6, 1, 4, 2],
        [8, 9, 1, 6, 0, 4, 3, 5, 2, 7],
        [9, 4, 5, 3, 1, 2, 6, 8, 7, 0],
        [4, 2, 8, 6, 5, 7, 3, 9, 0, 1],
        [2, 7, 9, 3, 8, 0, 6, 4, 1, 5],
        [7, 0, 4, 6, 9, 1, 3, 2, 5, 8],
    ];
    // Elements 0 to 4 are rotations, 5 to 9 reflections.
    let product = |a: u8, b: u8| match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => (a + b - 5) % 5 + 5,
        (false, true) => (a - 5 + 5 - b) % 5 + 5,
        (false, false) => (a + 5 - b) % 5,
    };
    let check = digits.iter().rev().enumerate().fold(0, |check, (i, digit)| {
        let row = PERMUTED.get(i % 8);
        product(check, row.and_then(|row| row.get(usize::from(*digit))).copied().unwrap_or(0))
    });
    !digits.is_empty() && check == 0
}

/// Brazilian CPF: two check digits modulo 11; eleven equal digits are invalid.
pub(super) fn cpf(digits: &[u8]) -> bool {
    let digit_after = |n: usize| {
        let weights: Vec<i64> = (2..=n as i64 + 1).rev().collect();
        let rest = weighted(digits, &weights) * 10 % 11;
        if rest == 10 { 0 } else { rest }
    };
    let is =
        |i: usize, n: usize| digits.get(i).is_some_and(|digit| i64::from(*digit) == digit_after(n));
    digits.len() == 11
        && digits.windows(2).any(|pair| pair.first() != pair.last())
        && is(9, 9)
        && is(10, 10)
}

/// Italian codice fiscale: 15 characters and a check letter.
pub(super) fn codice_fiscale(code: &[u8]) -> bool {
    const ODD: [u32; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24,
        23,
    ];
    let value = |byte: u8| match byte {
        b'0'..=b'9' => usize::from(byte - b'0'),
        _ => usize::from(byte.to_ascii_uppercase().saturating_sub(b'A')),
    };
    let Some((last, head)) = code.split_last() else { return false };
    // Odd and even places have different values; counting from one, the first is odd.
    let sum: u32 = head
        .iter()
        .enumerate()
        .map(|(i, byte)| match i % 2 {
            0 => ODD.get(value(*byte)).copied().unwrap_or(0),
            _ => value(*byte) as u32,
        })
        .sum();
    code.len() == 16 && sum % 26 == value(*last) as u32
}

/// The letter of a Spanish DNI or NIE.
pub(super) fn dni(number: u64, letter: u8) -> bool {
    b"TRWAGMYFPDXBNJZSQVHLCKE".get((number % 23) as usize) == Some(&letter.to_ascii_uppercase())
}

/// Chinese resident number: 17 digits and a check character modulo 11,2.
pub(super) fn chinese_id(code: &[u8]) -> bool {
    const WEIGHTS: [i64; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let Some((last, head)) = code.split_last() else { return false };
    let digits: Vec<u8> = head.iter().map(|byte| byte.wrapping_sub(b'0')).collect();
    let rest = (weighted(&digits, &WEIGHTS) % 11) as usize;
    code.len() == 18 && b"10X98765432".get(rest) == Some(&last.to_ascii_uppercase())
}
